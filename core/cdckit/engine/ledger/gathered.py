"""Rows of records that are gathered until they are hashed together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat
from typing import Any

from cdckit.api.marks import RoutedMark
from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.engine.ledger.layouts import Layout
from cdckit.engine.ledger.row_form import digest
from cdckit.engine.ledger.window import Changed
from cdckit.engine.proof.canonical import shortened
from cdckit.logical import ZONED_TIME, ZONED_TIMESTAMP

_OF_TIMES = (ZONED_TIMESTAMP.name, ZONED_TIME.name)


@dataclass(slots=True)
class GatheredRows:
    """Rows of one topic and schema that are not added up yet.

    Attributes:
        position: of the first one.
        layout: their columns.
        put: those that came.
        gone: those that went.
        keyed: of a table whose rows are known by their keys: each change's key, and the number of the row in `put`;
            -1: it is gone.
    """

    position: str
    layout: Layout
    put: list[Any] = field(default_factory=list)
    gone: list[Any] = field(default_factory=list)
    keyed: list[tuple[bytes, int]] = field(default_factory=list)

    def note_keys(self, keys: Sequence[Struct], *, gone: bool) -> None:
        """Notes the keys of rows that went, or of those that are put next."""
        numbers = repeat(-1) if gone else count(len(self.put))
        self.keyed += zip(key_hashes(keys), numbers, strict=False)

    def changes(self, put: Sequence[bytes]) -> Iterator[Changed]:
        """By keys, of the hashes of the rows that came."""
        return ((key, None if number < 0 else put[number]) for key, number in self.keyed)


def key_hashes(keys: Sequence[Struct]) -> list[bytes]:
    """Those of keys of one schema, in one form where their times may be written in more than one."""
    if not any(field.schema.name in _OF_TIMES for field in keys[0].schema.fields):
        return [digest(repr([*key.values]).encode()) for key in keys]
    return [digest(repr(_in_one_form(key)).encode()) for key in keys]


def _in_one_form(key: Struct) -> list[Any]:
    return [
        shortened(value) if one.schema.name in _OF_TIMES and isinstance(value, str) else value
        for one, value in zip(key.schema.fields, key.values, strict=True)
    ]


def parts(
    records: Sequence[Record], marks: Sequence[RoutedMark]
) -> Iterator[tuple[Sequence[Record], RoutedMark | None]]:
    """Records up to each mark, in order; then those behind the last."""
    for mark in sorted(marks, key=lambda routed: routed.mark.position):
        place = mark.mark.position
        yield [record for record in records if record.position <= place], mark
        records = [record for record in records if record.position > place]
    yield records, None
