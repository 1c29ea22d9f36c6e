"""What a pipeline writes: topics with the fields of their values, noticed behind the transforms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cdckit.api.record import Record
from cdckit.api.schema import Schema

_SCHEMAS_KEPT = 4096
"""As many are told apart; beyond that those that come again are looked at again."""


class OutputField(NamedTuple):
    """A field of a value.

    Attributes:
        name: its name.
        type_name: Kafka Connect's type, as Java writes it.
        doc: its comment, or None.
        fields: the members of a struct.
    """

    name: str
    type_name: str
    doc: str | None = None
    fields: tuple[OutputField, ...] = ()


Told = Callable[[str, tuple[OutputField, ...]], None]
"""Takes a topic, and the fields of its values."""


def fields_of(schema: Schema) -> tuple[OutputField, ...]:
    """The members of a struct, with theirs; none of what is no struct."""
    return tuple(_fields(schema))


def _fields(schema: Schema) -> Iterator[OutputField]:
    for member in schema.fields:
        yield OutputField(member.name, member.schema.type.upper(), member.schema.doc, fields_of(member.schema))


class OutputWatch:
    """Looks at records, and tells of each topic once, and again where its values have another schema.

    Args:
        told: takes what is new.
        rows: whether rows stand for their envelopes, as in tables.
    """

    def __init__(self, told: Told, *, rows: bool) -> None:
        self._told = told
        self._rows = rows
        self._seen: dict[tuple[str, int], Schema | None] = {}
        """The schemas themselves are kept, so that no other takes the place of one in memory."""

    def see(self, records: Sequence[Record]) -> None:
        """Looks at records behind the transforms."""
        seen = self._seen
        for record in records:
            value = record.value
            if value is not None:
                schema = value.schema
                if (record.topic, id(schema)) not in seen:
                    self._new(record.topic, schema)

    def _new(self, topic: str, schema: Schema | None) -> None:
        if len(self._seen) >= _SCHEMAS_KEPT:
            self._seen.clear()
        self._seen[topic, id(schema)] = schema
        self._told(topic, () if schema is None else fields_of(self._shown(schema)))

    def _shown(self, schema: Schema) -> Schema:
        if self._rows and {"before", "after", "op"} <= schema.index.keys():
            return schema.field("after").schema
        return schema
