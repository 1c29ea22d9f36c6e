"""The changes of some rows, in order, as versions: each row's values with when they came and when they went.

Type 2 of slowly changing dimensions. A change that leaves a row as it is makes no version, so that a table that is read
again, or a change that comes twice, adds none.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.api.record import lane_of
from cdckit.tables.lake.folding import missing
from cdckit.tables.lake.target import Ending
from cdckit.tables.layout import ABSENT, END, FROM, OP, POSITION, TO

_NONE = -1
"""The number of no row."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What becomes of versions.

    Attributes:
        new: those that are made.
        ended: those of the table that end, with their ends.
        kept: those of the table that go on.
    """

    new: pa.Table
    ended: pa.Table
    kept: pa.Table


@dataclass(slots=True)
class _Closing:
    """The end of a version, unless what ends it (a row's number) is the same as it."""

    row: int
    position: str
    micros: int | None
    by: int = _NONE


@dataclass(slots=True)
class Timeline:
    """Goes through changes in the log's order.

    Attributes:
        rows: versions that the table has and that have no end, then the changes, in order.
        standing: how many the former are.
        places: of each row its key; of tables without one what all have in common that tell of it.
        old_places: of rows whose key has changed (`m`), and lack values, the key before.
        endings: in order.
        compared: the columns in which a row may differ from the one before it.
        unavailable: the columns in which a value may be missing.
        text: what stands for an unavailable value.
        contents: of tables without a key all that each row holds; None: a place has one row.
    """

    rows: pa.Table
    standing: int
    places: Sequence[Hashable]
    old_places: Sequence[Hashable | None]
    endings: Sequence[Ending]
    compared: Collection[str]
    unavailable: Collection[str]
    text: str
    contents: Sequence[Hashable] | None = None
    _live: dict[Hashable, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    _doubted: dict[Hashable, deque[tuple[int, Ending]]] = field(default_factory=lambda: defaultdict(deque))
    _gone: dict[Hashable, int] = field(default_factory=dict)
    _closings: list[_Closing] = field(default_factory=list)
    _before: list[int] = field(default_factory=list)
    _positions: list[str] = field(default_factory=list)

    def changed(self) -> Changed:
        """What becomes of the versions."""
        count = self.rows.num_rows
        self._positions = self.rows.column(POSITION).to_pylist()
        self._before = [_NONE] * count
        taken = {name: list(range(count)) for name in self.unavailable}
        lacks = {name: missing(self.rows, name, self.text).to_pylist() for name in self.unavailable}
        self._walk(taken, lacks)
        rows = self._completed(taken)
        return self._made(rows, self._same(rows))

    # -- the walk

    def _walk(self, taken: dict[str, list[int]], lacks: dict[str, list[bool]]) -> None:
        for row in range(self.standing):
            self._live[self.places[row]].append(row)
        micros = self.rows.column(FROM).cast(pa.int64()).to_pylist()
        operations = self.rows.column(OP).to_pylist()
        endings = deque(self.endings)
        for row in range(self.standing, self.rows.num_rows):
            position = self._positions[row]
            while endings and endings[0].position < position:
                self._end(endings.popleft())
            if operations[row] == "d":
                self._remove(row, micros[row])
                continue
            source = self._put(row, micros[row], operations[row])
            for name in taken if source != _NONE else ():
                if lacks[name][row]:
                    taken[name][row] = taken[name][source]
        for ending in endings:
            self._end(ending)
        for doubted in self._doubted.values():
            self._closings += [_Closing(row, end.position, end.micros) for row, end in doubted]

    def _put(self, row: int, micros: int | None, operation: str) -> int:
        """Takes a row; the number of the one that has the values which it lacks."""
        place, closing = self.places[row], _Closing(_NONE, self._positions[row], micros, row)
        before = _NONE
        if self._doubted[place]:
            before, _ = self._doubted[place].popleft()
        elif self.contents is None and self._live[place]:
            before = self._live[place].pop()
        self._live[place].append(row)
        if before != _NONE:
            closing.row = self._before[row] = before
            self._closings.append(closing)
        old = self.old_places[row] if operation == "m" else None
        return before if old is None else self._gone.get(old, before)

    def _remove(self, row: int, micros: int | None) -> None:
        """Of equal rows the oldest goes, before those that are alike."""
        place = self.places[row]
        if live := self._live[place]:
            gone = live[0]
            if self.contents is not None:
                gone = next((one for one in live if self.contents[one] == self.contents[row]), gone)
            live.remove(gone)
            self._gone[place] = gone
            self._closings.append(_Closing(gone, self._positions[row], micros))

    def _end(self, ending: Ending) -> None:
        for place, rows in self._live.items():
            ended = [row for row in rows if self._ends(ending, row)]
            if not ended:
                continue
            self._live[place] = deque(row for row in rows if row not in ended)
            if ending.reread:
                self._doubted[place] += [(row, ending) for row in ended]
            else:
                self._closings += [_Closing(row, ending.position, ending.micros) for row in ended]

    def _ends(self, ending: Ending, row: int) -> bool:
        """Whether a row goes; of one in another lane that came with the same rows nobody can say that it was before."""
        if row >= self.standing and lane_of(self._positions[row]) != lane_of(ending.position):
            return False
        return all(self.rows.column(name)[row].as_py() == value for name, value in ending.scope)

    # -- what it comes to

    def _completed(self, taken: dict[str, list[int]]) -> pa.Table:
        """The rows with the values that they lack, as far as they are known."""
        rows = self.rows
        for name, numbers in taken.items():
            at = rows.schema.get_field_index(name)
            rows = rows.set_column(at, rows.schema.field(at), rows.column(name).take(pa.array(numbers, pa.int64())))
        return rows

    def _same(self, rows: pa.Table) -> list[bool]:
        """Whether a row holds what the one before it did."""
        before = pa.array([None if row == _NONE else row for row in self._before], pa.int64())
        same = pc.is_valid(before)
        for name in self.compared:
            column = rows.column(name)
            same = pc.and_(same, _equal(column, column.take(before)))
        found: list[bool] = same.to_pylist()
        return found

    def _made(self, rows: pa.Table, same: Sequence[bool]) -> Changed:
        roots = list(range(rows.num_rows))
        for row, before in enumerate(self._before):
            if same[row]:
                roots[row] = roots[before]
        ends: dict[int, _Closing] = {}
        for closing in self._closings:
            if closing.by == _NONE or not same[closing.by]:
                ends[roots[closing.row]] = closing
        operations = rows.column(OP).to_pylist()
        new = [row for row in range(self.standing, len(roots)) if operations[row] != "d" and roots[row] == row]
        ended = [row for row in range(self.standing) if row in ends]
        kept = [row for row in range(self.standing) if row not in ends]
        plain = rows.drop_columns([OP, ABSENT])
        return Changed(_ended(plain, new, ends), _ended(plain, ended, ends), _ended(plain, kept, ends))


def _ended(rows: pa.Table, numbers: Sequence[int], ends: dict[int, _Closing]) -> pa.Table:
    """Some rows with their ends."""
    found = rows.take(pa.array(numbers, pa.int64()))
    closings = [ends.get(row) for row in numbers]
    begun = found.column(FROM).cast(pa.int64()).to_pylist()
    times = pa.array([_end_of(one, begin) for one, begin in zip(closings, begun, strict=True)], pa.int64())
    places = pa.array([None if one is None else one.position for one in closings], pa.string())
    for name, values in ((TO, times), (END, places)):
        at = found.schema.get_field_index(name)
        found = found.set_column(at, found.schema.field(at), values.cast(found.schema.field(at).type))
    return found


def _end_of(closing: _Closing | None, begin: int | None) -> int | None:
    """No version ends before it begins, whatever the source's clocks say."""
    if closing is None or closing.micros is None:
        return None
    return closing.micros if begin is None else max(begin, closing.micros)


def _equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether values are the same; nothing is the same as nothing."""
    if pa.types.is_nested(one.type):
        return pa.chunked_array([pa.array(_equals(one, other), pa.bool_())])
    if pa.types.is_floating(one.type):  # what is no number is the same as itself, and -0 is another one than 0
        kind = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[one.type.bit_width]
        one, other = (_bits(column, kind) for column in (one, other))
    both = pc.and_(pc.is_null(one), pc.is_null(other))
    return pc.or_(both, pc.fill_null(pc.equal(one, other), False))


def _equals(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Iterator[bool]:
    yield from (a == b for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True))


def _bits(column: pa.ChunkedArray, kind: pa.DataType) -> Any:
    return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)
