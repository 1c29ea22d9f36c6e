"""Changes of rows that have all but their rows in common: what there is to know of them is asked once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cdckit.api.record import Record
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct, TemplateStruct
from cdckit.tables.shapes import EnvelopeShape, hole_of


def alike(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """The records in order: those of one event of the log together, others by themselves."""
    at, end = 0, len(records)
    while at < end:
        first, behind = records[at], at + 1
        if type(first.value) is TemplateStruct and isinstance(first.key, Struct):
            template, schema, topic, headers = first.value.template, first.key.schema, first.topic, first.headers
            while behind < end:
                each = records[behind]
                if not (
                    type(each.value) is TemplateStruct
                    and each.value.template is template
                    and each.topic == topic
                    and each.headers is headers
                    and isinstance(each.key, Struct)
                    and each.key.schema is schema
                ):
                    break
                behind += 1
        yield records[at:behind]
        at = behind


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of rows that are alike.

    Attributes:
        records: their records.
        shape: where the parts of their values stand.
    """

    records: Sequence[Record]
    shape: EnvelopeShape

    @property
    def topic(self) -> str:
        """Where they go."""
        return self.records[0].topic

    @property
    def position(self) -> str:
        """That of the first one."""
        return self.records[0].position

    @property
    def op(self) -> str:
        """What was done."""
        op: str = self._member(self.shape.op)
        return op

    @property
    def source(self) -> Struct:
        """The source block of the first one."""
        source: Struct = self._member(self.shape.source)
        return source

    @property
    def key(self) -> Schema:
        """The schema of their keys."""
        return self.keys[0].schema

    @property
    def keys(self) -> Sequence[Struct]:
        """What identifies their rows."""
        return [record.key for record in self.records if isinstance(record.key, Struct)]

    def images(self, *, before: bool) -> list[Any]:
        """The rows, or the documents, before or behind them; None where one is not told."""
        at = self.shape.before if before else self.shape.after
        if at is None:
            return [None] * len(self.records)
        value = self.records[0].value
        hole = hole_of(value.template, at) if isinstance(value, TemplateStruct) else None
        if hole is None:
            return [self._member(at)] * len(self.records)
        return [record.value.fills[hole] for record in self.records]  # type: ignore[union-attr]

    def _member(self, at: int) -> Any:
        value = self.records[0].value
        assert isinstance(value, Struct)
        if isinstance(value, TemplateStruct):
            hole = hole_of(value.template, at)
            return value.template.values[at] if hole is None else value.fills[hole]
        return value.values[at]
