"""What a source knows of columns besides their events, kept with a record: JSON with schemas has no place for it.

A table that a replay writes needs it: a BIGINT UNSIGNED is a negative number in an int64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from cdckit.api.record import Record
from cdckit.api.schema import Schema, Stored
from cdckit.api.struct import Struct
from cdckit.connector.connect_json.schema import STORED

Told = list[tuple[list[str], dict[str, Any]]]
"""For members of a struct, each by the names of the fields that lead to it, what is known of it."""

_KEPT = ("unsigned", "table", "zero_is_epoch")
_NOTHING = asdict(Stored())


def stored_facts(record: Record) -> dict[str, Told]:
    """What is known of a record's key and value; empty where that is nothing."""
    parts = {"key": record.key, "value": record.value}
    told = {name: [*_told(part.schema, [])] for name, part in parts.items() if isinstance(part, Struct)}
    return {name: facts for name, facts in told.items() if facts}


def _told(schema: Schema, path: list[str]) -> Iterator[tuple[list[str], dict[str, Any]]]:
    facts = {
        name: known for name in _KEPT if (known := getattr(schema.stored, name, None)) not in (None, _NOTHING[name])
    }
    if facts:
        yield path, facts
    for field in schema.fields:
        yield from _told(field.schema, [*path, field.name])


def put_back(content: dict[str, Any], told: dict[str, Told]) -> None:
    """Puts what is known into the schemas of a content's key and value, where they are read from.

    Raises:
        KeyError, TypeError, StopIteration: they have no such members.
    """
    for part, facts in told.items():
        for path, known in facts:
            schema = content[part]["schema"]
            for name in path:
                schema = next(member for member in schema["fields"] if member["field"] == name)
            schema[STORED] = known
