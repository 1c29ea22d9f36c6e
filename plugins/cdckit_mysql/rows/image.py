"""Row images of one table with one set of columns, to tuples."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cdckit_mysql.rows.cell import Cell
from cdckit_mysql.rows.row_source import null_bits_cell, row_body
from cdckit_mysql.rows.scope import Scope

Row = tuple[Any, ...]
ReadRows = Callable[[bytes, int, int, Callable[[Row], object]], int]
"""Reads the rows between two places until one has other null bits; gives the place behind the last one read."""

_SPECIALISED = 64
"""So many patterns of null bits have functions of their own; all others share one that asks for each column."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column that an image holds.

    Attributes:
        cell: how it is read.
        null: what its NULL is shown as.
        kept: whether it stands in the tuples.
    """

    cell: Cell
    null: Any
    kept: bool


class ImageReader:
    """Reads images that hold the same columns.

    Args:
        columns: in the order of the tuples and the images the columns that the images hold, and for those that only
            the tuples hold a tuple of one, the value to show.
        scope: the names that the cells use.
        label: names the code in tracebacks.
    """

    def __init__(self, columns: Sequence[Column | tuple[Any]], scope: Scope, label: str) -> None:
        self._columns = columns
        self._scope = scope
        self._label = label
        self._held = sum(isinstance(column, Column) for column in columns)
        self._bits = null_bits_cell(self._held)
        self._readers: dict[bytes, ReadRows] = {}
        self._any: ReadRows | None = None

    def read(self, buf: bytes, at: int, end: int, append: Callable[[Row], object]) -> int:
        """Give each image between `at` and `end` to `append`; give the place behind the last.

        With `end` just behind `at` it is exactly one.
        """
        size = self._bits.size
        readers = self._readers
        if not size:
            return self._reader(b"")(buf, at, end, append)
        while at < end:
            bits = buf[at : at + size]
            read = readers.get(bits) or self._reader(bits)
            at = read(buf, at, end, append)
        return at

    def _reader(self, bits: bytes) -> ReadRows:
        if len(self._readers) < _SPECIALISED:
            made = self._readers[bits] = self._compile(bits)
            return made
        if self._any is None:
            self._any = self._compile_any()
        return self._any

    def _compile(self, bits: bytes) -> ReadRows:
        """A function for images whose null bits are `bits`."""
        scope = self._scope
        nulls = int.from_bytes(bits, "little")
        body = row_body(list(self._cells(nulls)), "at", scope, self._bits)
        expected = scope.name(bits) if self._bits.format.endswith("s") else str(nulls)
        source = "\n".join(
            [
                "def read(buf, at, end, append):",
                "    try:",
                "        while at < end:",
                *(f"            {line}" for line in body.lines[:1]),
                f"            if nulls != {expected}: return at",
                *(f"            {line}" for line in body.lines[1:]),
                f"            append(({''.join(f'{value}, ' for value in body.values)}))",
                f"            at = {body.end}",
                f"    except {scope.name(struct.error)}:",
                f"        if buf[at : at + {self._bits.size}] == {scope.name(bits)}: raise",
                "    return at",
            ]
        )
        read: ReadRows = scope.compile(source, "read", self._label)
        return read

    def _cells(self, nulls: int) -> list[Cell | str]:
        cells: list[Cell | str] = []
        held = 0
        for column in self._columns:
            if isinstance(column, tuple):
                cells.append(self._scope.name(column[0]))
                continue
            if not nulls >> held & 1:
                cells.append(column.cell)
            elif column.kept:
                cells.append(self._scope.name(column.null))
            held += 1
        return cells

    def _compile_any(self) -> ReadRows:
        """A function for one image with any null bits."""
        scope = self._scope
        lines = ["def read(buf, at, end, append):"]
        size = self._bits.size
        lines += [f"    nulls = {scope.name(int.from_bytes)}(buf[at : at + {size}], 'little')", f"    at += {size}"]
        values: list[str] = []
        held = 0
        for place, column in enumerate(self._columns):
            if isinstance(column, tuple):
                values.append(scope.name(column[0]))
                continue
            lines += self._column_lines(column, f"v{place}", 1 << held)
            if column.kept:
                values.append(f"v{place}")
            held += 1
        lines += [f"    append(({''.join(f'{value}, ' for value in values)}))", "    return at"]
        read: ReadRows = scope.compile("\n".join(lines), "read", self._label)
        return read

    def _column_lines(self, column: Column, name: str, bit: int) -> list[str]:
        body = row_body([column.cell], "at", self._scope)
        lines = [f"    if nulls & {bit}:", f"        {name} = {self._scope.name(column.null)}", "    else:"]
        lines += [f"        {line}" for line in body.lines]
        if column.kept:
            lines.append(f"        {name} = {body.values[0]}")
        return [*lines, f"        at = {body.end}"]
