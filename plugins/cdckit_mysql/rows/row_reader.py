"""What readers of rows have in common: a function for each pattern of null bits, made when it is first met."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from cdckit import DecodeError
from cdckit_mysql.rows.cell import Cell, Scope
from cdckit_mysql.rows.row_source import RowBody, bits_cell, row_body

Row = tuple[Any, ...]
ReadRows = Callable[..., int]
"""Reads rows until one has other null bits; gives the place of the next row."""

_SPECIALISED = 64
"""So many patterns of null bits have functions of their own; all others share one that asks for each column."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column that a row holds.

    Attributes:
        cell: how it is read.
        null: what its NULL is shown as.
        kept: whether it stands in the tuples.
        required: its name, where a NULL in it can only be damage; else empty.
    """

    cell: Cell
    null: Any
    kept: bool
    required: str = ""


class RowReader(ABC):
    """Reads rows that hold the same columns.

    Args:
        columns: in the order of the tuples and the rows the columns that the rows hold, and for those that only the
            tuples hold a tuple of one, the value to show.
        scope: the names that the cells use.
        lead: how many bits stand before the first column's null bit.
        header: what stands before the null bits, two numbers that make a size.
    """

    def __init__(
        self,
        columns: Sequence[Column | tuple[Any]],
        scope: Scope,
        *,
        lead: int = 0,
        header: Cell | None = None,
    ) -> None:
        held = sum(isinstance(column, Column) for column in columns)
        self._columns = columns
        self._scope = scope
        self._lead = lead
        self._bits = bits_cell((lead + held + 7) // 8)
        self._first = [(self._bits, ["nulls"])]
        if header is not None:
            self._first.insert(0, (header, ["size_low", "size_high"]))
        self._readers: dict[bytes, ReadRows] = {}
        self._any: ReadRows | None = None

    def _reader(self, bits: bytes) -> ReadRows:
        """The function for rows whose null bits are `bits`."""
        if len(self._readers) < _SPECIALISED:
            body = row_body(self._cells(bits), "at", self._scope, self._first)
            made = self._compile(self._source(body, bits))
            self._readers[bits] = made
            return made
        return self._any_reader()

    def _any_reader(self) -> ReadRows:
        """The function for rows with any null bits."""
        if self._any is None:
            self._any = self._compile(self._any_source())
        return self._any

    @abstractmethod
    def _source(self, body: RowBody, bits: bytes) -> str:
        """A function `read` for rows whose null bits are `bits`."""

    @abstractmethod
    def _any_source(self) -> str:
        """A function `read` for one row with any null bits."""

    def _compile(self, source: str) -> ReadRows:
        read: ReadRows = self._scope.compile(source, "read")
        return read

    def _expected(self, bits: bytes) -> str:
        """The expression that the unpacked null bits are compared with."""
        return self._scope.name(bits) if self._bits.format.endswith("s") else str(int.from_bytes(bits, "little"))

    def _cells(self, bits: bytes) -> list[Cell | str]:
        nulls = int.from_bytes(bits, "little") >> self._lead
        cells: list[Cell | str] = []
        held = 0
        for column in self._columns:
            if isinstance(column, tuple):
                cells.append(self._scope.name(column[0]))
                continue
            if not nulls >> held & 1:
                cells.append(column.cell)
            elif column.required:
                _refuse_null(column.required)
            elif column.kept:
                cells.append(self._scope.name(column.null))
            held += 1
        return cells

    def _any_lines(self) -> list[str]:
        """Statements that read one row at `at`, asking for each column whether it is NULL, and append it."""
        size = self._bits.size
        lines = [f"nulls = {self._scope.name(int.from_bytes)}(buf[at : at + {size}], 'little')", f"at += {size}"]
        values: list[str] = []
        held = self._lead
        for place, column in enumerate(self._columns):
            if isinstance(column, tuple):
                values.append(self._scope.name(column[0]))
                continue
            lines += self._column_lines(column, f"v{place}", 1 << held)
            if column.kept:
                values.append(f"v{place}")
            held += 1
        return [*lines, append_line(values)]

    def _column_lines(self, column: Column, name: str, bit: int) -> list[str]:
        body = row_body([column.cell], "at", self._scope)
        refuses = f"{self._scope.name(_refuse_null)}({column.required!r})"
        null = refuses if column.required else self._scope.name(column.null)
        lines = [f"if nulls & {bit}:", f"    {name} = {null}", "else:"]
        lines += [f"    {line}" for line in body.lines]
        if column.kept:
            lines.append(f"    {name} = {body.values[0]}")
        return [*lines, f"    at = {body.end}"]


def _refuse_null(column: str) -> NoReturn:
    raise DecodeError(f"column {column} of the key is NULL, which it cannot be: the row is damaged")


def append_line(values: Sequence[str]) -> str:
    """The statement that hands over a row."""
    return f"append(({''.join(f'{value}, ' for value in values)}))"


def indented(lines: Sequence[str], depth: int) -> list[str]:
    """Lines further to the right."""
    return [" " * 4 * depth + line for line in lines]
