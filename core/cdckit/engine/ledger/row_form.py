"""Rows as the texts that the ledger hashes: those of the JSON serializer, where snapshot and log write them alike.

JSON columns and times with fractions are written by snapshots and by the log in more than one way: those are brought
to one form. A column that came later is left out: rows from before would have to be read to know what it did to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import orjson
import xxhash

from cdckit.api.schema import Schema
from cdckit.engine.proof.canonical import shortened
from cdckit.logical import JSON, ZONED_TIME, ZONED_TIMESTAMP
from cdckit.tables.json_texts import parsed

_OF_TIMES = (ZONED_TIMESTAMP.name, ZONED_TIME.name)

digest = xxhash.xxh3_128_digest
"""The hash of a row's text, 16 bytes; making numbers of them takes longer than hashing."""


@dataclass(frozen=True, slots=True)
class RowForm:
    """How rows of one table become texts.

    Attributes:
        columns: the columns, each with its type; in order.
        documents: those that hold JSON as text.
        times: those that hold times as text.
    """

    columns: Mapping[str, str]
    documents: tuple[str, ...] = ()
    times: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: Schema) -> Self:
        """That of the rows of a schema."""
        documents = tuple(field.name for field in schema.fields if field.schema.name == JSON.name)
        times = tuple(field.name for field in schema.fields if field.schema.name in _OF_TIMES)
        return cls({field.name: _type(field.schema) for field in schema.fields}, documents, times)

    def text(self, row: Mapping[str, Any]) -> bytes:
        """A row as text; a column that it lacks is null."""
        values = {name: row.get(name) for name in self.columns}
        for name in self.documents:
            if isinstance(text := values[name], str):
                values[name] = orjson.Fragment(orjson.dumps(parsed(text), option=orjson.OPT_SORT_KEYS))
        for name in self.times:
            if isinstance(text := values[name], str):
                values[name] = shortened(text)
        return orjson.dumps(values)

    def of_text(self, text: bytes) -> bytes:
        """The text of a row in this form, of what the serializer wrote."""
        return self.text(orjson.loads(text))

    def covers(self, other: RowForm) -> bool:
        """Whether rows of another form have all columns of this one, with the same types."""
        return self.columns.items() <= other.columns.items()

    def lost(self, other: RowForm) -> str:
        """The columns that rows of another form lack, or have otherwise."""
        return ", ".join(sorted(name for name, _ in self.columns.items() - other.columns.items()))


def _type(schema: Schema) -> str:
    """Whether a value may be null says nothing of the text of one that is not."""
    parameters = "".join(f" {name}={value}" for name, value in sorted((schema.parameters or {}).items()))
    return f"{schema.name or schema.type}{parameters}"
