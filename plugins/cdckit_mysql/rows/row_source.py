"""Source text of functions that read rows: adjacent parts of fixed size are unpacked by one `struct.Struct`.

A row is read in runs. A run holds the cells of fixed size up to and with the length of the next value of variable
length; little-endian and big-endian cells of a run are unpacked by a struct each, which pads over the other's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from struct import Struct

from cdckit_mysql.rows.cell import Cell, Order, Scope

_UNSIGNED = {1: "B", 2: "H", 4: "I", 8: "Q"}


@dataclass(slots=True)
class Run:
    """Cells that are unpacked together, each with its place from the run's start and the names of what is unpacked."""

    size: int = 0
    parts: list[tuple[int, Cell, list[str]]] = field(default_factory=list)

    def add(self, cell: Cell, names: list[str]) -> None:
        """Put a cell behind the others."""
        self.parts.append((self.size, cell, names))
        self.size += cell.size

    def lines(self, at: str, scope: Scope) -> Iterator[str]:
        """The statements that unpack the run which begins at the expression `at`."""
        for order in ("<", ">"):
            yield from self._unpacking(order, at, scope)

    def _unpacking(self, order: Order, at: str, scope: Scope) -> Iterator[str]:
        parts = [part for part in self.parts if part[1].order == order and part[2]]
        if not parts:
            return
        start = behind = parts[0][0]
        letters: list[str] = [order]
        names: list[str] = []
        for place, cell, unpacked in parts:
            if place > behind:
                letters.append(f"{place - behind}x")
            letters.append(cell.format)
            names += unpacked
            behind = place + cell.size
        where = f"{at} + {start}" if start else at
        # An index takes half the time of unpacking one byte.
        if letters[1:] == ["B"]:
            yield f"{names[0]} = buf[{where}]"
        else:
            unpack = scope.name(Struct("".join(letters)).unpack_from)
            yield f"{', '.join(names)}, = {unpack}(buf, {where})"


@dataclass(frozen=True, slots=True)
class RowBody:
    """The statements that read one row.

    Attributes:
        lines: the statements.
        values: the expressions of the row's values.
        end: the expression of the place behind the row.
    """

    lines: list[str]
    values: list[str]
    end: str


def row_body(
    cells: Sequence[Cell | str], start: str, scope: Scope, first: Sequence[tuple[Cell, list[str]]] = ()
) -> RowBody:
    """How one row is read.

    Args:
        cells: for each column that the row holds its cell, or for one that it does not the expression of its value.
        start: the expression of the row's start.
        scope: takes the names.
        first: what stands before the columns, with the names that it is unpacked to.
    """
    body = _Body(start, scope)
    for before, names in first:
        body.run.add(before, names)
    for number, cell in enumerate(cells):
        if isinstance(cell, str):
            body.values.append(cell)
        else:
            body.add(number, cell)
    return body.finish()


class _Body:
    """A row's statements while they are put together."""

    def __init__(self, start: str, scope: Scope) -> None:
        self.at = start
        self.scope = scope
        self.run = Run()
        self.lines: list[str] = []
        self.values: list[str] = []

    def add(self, number: int, cell: Cell) -> None:
        names = [f"c{number}_{part}" for part in range(cell.count)]
        self.run.add(cell, names)
        if cell.length is None:
            if cell.value:
                self.values.append(cell.value.format(*names))
            return
        begin, end = f"s{number}", f"e{number}"
        behind = f"{self.at} + {self.run.size}"
        self.lines += self.run.lines(self.at, self.scope)
        length = cell.length.format(*names)
        if cell.value or cell.long_length:
            self.lines.append(f"{begin} = {behind}")
            if cell.long_length:
                self.lines.append(f"if {names[0]} > 250: {names[0]}, {begin} = {cell.long_length}(buf, {begin} - 1)")
            self.lines.append(f"{end} = {begin} + {length}")
        else:
            self.lines.append(f"{end} = {behind} + {length}")
        if cell.value:
            self.values.append(cell.value.format(*names, data=f"buf[{begin}:{end}]"))
        # Behind a value of variable length places are known only at run time: a new run begins there.
        self.run, self.at = Run(), end

    def finish(self) -> RowBody:
        self.lines += self.run.lines(self.at, self.scope)
        end = f"{self.at} + {self.run.size}" if self.run.size else self.at
        return RowBody(self.lines, self.values, end)


def bits_cell(size: int) -> Cell:
    """So many bytes of bits, read as a number where that is possible, else as bytes."""
    return Cell(_UNSIGNED.get(size, f"{size}s"), size)
