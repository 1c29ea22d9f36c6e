"""Columns of rows that come without schemas and definitions: what their values look like, all that were seen so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cdckit import DecodeError
from cdckit_ticdc.columns.column import Column
from cdckit_ticdc.columns.debezium import DebeziumColumns
from cdckit_ticdc.columns.seen import merged, seen_schema
from cdckit_ticdc.layout import Images, Layout

Row = Mapping[str, Any]


class InferredTable:
    """One table. A column that was null in every row so far is left out; a kind that widens makes a new layout.

    Args:
        table: database and table.
        columns: makes columns out of values.
        make_layout: makes a layout of columns.
    """

    def __init__(
        self, table: tuple[str, str], columns: DebeziumColumns, make_layout: Callable[[list[Column]], Layout]
    ) -> None:
        self._table = table
        self._columns = columns
        self._make_layout = make_layout
        self._samples: dict[str, list[Any]] = {}
        self._layout: Layout | None = None

    def images(self, operation: str, before: Row | None, after: Row | None) -> Images:
        """The rows of one change.

        Raises:
            DecodeError: a column holds values that no one type fits.
        """
        if self._layout is not None:
            try:
                return self._layout.images(operation, before, after)
            except DecodeError:
                pass  # a column or a kind of value that was not seen before
        self._see(before)
        self._see(after)
        layout = self._widened()
        return layout.images(operation, _only(layout.row.index, before), _only(layout.row.index, after))

    def _see(self, row: Row | None) -> None:
        for name, value in (row or {}).items():
            samples = self._samples.setdefault(name, [])
            same = next((at for at, sample in enumerate(samples) if sample.__class__ is value.__class__), None)
            if value is not None and same is None:
                samples.append(value)
                self._layout = None
            elif same is not None and isinstance(value, dict | list):
                self._see_inside(samples, same, value)

    def _see_inside(self, samples: list[Any], at: int, value: Any) -> None:
        shown = merged(samples[at], value)
        if not seen_schema(shown).same_as(seen_schema(samples[at])):
            samples[at] = shown
            self._layout = None

    def _widened(self) -> Layout:
        if self._layout is None:
            try:
                made = [self._columns.inferred(self._table, name, seen) for name, seen in self._samples.items()]
            except ValueError as error:
                raise DecodeError(f"table {'.'.join(self._table)}: {error}") from error
            self._layout = self._make_layout([column for column in made if column is not None])
        return self._layout


def _only(shown: Mapping[str, Any], row: Row | None) -> Row | None:
    return None if row is None else {name: value for name, value in row.items() if name in shown}
