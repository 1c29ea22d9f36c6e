"""What changes of rows without a key come to: these are told apart by all that they hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from cdckit.tables.lake.alike import Alike
from cdckit.tables.lake.folding import hashable
from cdckit.tables.layout import OP, POSITION

Row = tuple[Any, ...]


class Unkeyed:
    """Rows that are added, and rows that are removed besides.

    Args:
        changes: in order.
        columns: the table's.

    Attributes:
        put: the numbers of the changes whose rows are added.
        content: the columns that tell rows apart.
    """

    def __init__(self, changes: pa.Table, columns: Collection[str]) -> None:
        self.content = [name for name in columns if name != POSITION]
        self._alike = Alike(changes.schema, self.content)
        put: dict[Row, list[int]] = defaultdict(list)
        gone: dict[Row, list[int]] = defaultdict(list)
        rows = list(self._contents(changes))
        for number, (row, operation) in enumerate(zip(rows, changes.column(OP).to_pylist(), strict=True)):
            (gone if operation == "d" else put)[row].append(number)
        self._removed = {row: numbers[len(put.get(row, ())) :] for row, numbers in gone.items()}
        self.put = sorted(number for row, numbers in put.items() for number in numbers[len(gone.get(row, ())) :])
        if self._alike.varies:
            self._take_off_alike(rows)

    def _contents(self, rows: pa.Table | pa.RecordBatch) -> Iterator[Row]:
        """What each row holds, as something that can be compared."""
        return zip(*(map(hashable, rows.column(name).to_pylist()) for name in self.content), strict=True)

    def _take_off_alike(self, rows: Sequence[Row]) -> None:
        """Takes off rows that are added and then removed, told in another way."""
        removed: dict[Row, list[list[int]]] = defaultdict(list)
        for row, numbers in self._removed.items():
            if numbers:
                removed[self._alike.of(row)].append(numbers)
        if removed:
            self.put = [number for number in self.put if not _taken(number, removed.get(self._alike.of(rows[number])))]

    def found(self, scan: Callable[[Sequence[str]], Iterable[pa.RecordBatch]]) -> Iterator[str]:
        """The positions of the table's rows that are to be removed: of equal ones the oldest, then of others alike.

        Args:
            scan: gives some columns of the table's rows.
        """
        removed = {row: len(numbers) for row, numbers in self._removed.items() if numbers}
        if not removed:
            return
        equal: dict[Row, list[str]] = {row: [] for row in removed}
        alike: dict[Row, list[str]] = {self._alike.of(row): [] for row in removed} if self._alike.varies else {}
        others = {self._alike.others(row) for row in removed} if alike else set()
        for row, position in self._positions(scan([*self.content, POSITION])):
            if row in equal:
                equal[row].append(position)
            elif self._alike.others(row) in others and (like := self._alike.of(row)) in alike:
                alike[like].append(position)
        for row, count in removed.items():
            taken = _first(equal[row], count)
            yield from taken
            if alike:
                yield from _first(alike[self._alike.of(row)], count - len(taken))

    def _positions(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Row, str]]:
        for batch in batches:
            yield from zip(self._contents(batch), batch.column(POSITION).to_pylist(), strict=True)


def _taken(number: int, removed: Iterable[list[int]] | None) -> bool:
    """Whether something of what is removed stands behind a change, and so is done with."""
    for numbers in removed or ():
        if numbers and numbers[-1] > number:
            numbers.pop()
            return True
    return False


def _first(positions: list[str], count: int) -> list[str]:
    """Takes the oldest ones away; gives them."""
    positions.sort()
    taken = positions[:count]
    del positions[:count]
    return taken
