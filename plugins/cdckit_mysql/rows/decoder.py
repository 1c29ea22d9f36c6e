"""Rows events to tuples."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from cdckit.errors import DecodeError
from cdckit_mysql.binlog import column_types
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.rows.cell import Cell
from cdckit_mysql.rows.image import ImageReader
from cdckit_mysql.rows.log_cells import json_bytes_cell, log_cell, skipped_cell
from cdckit_mysql.rows.partial import ABSENT, partial_updates
from cdckit_mysql.rows.row_reader import Column, Row
from cdckit_mysql.rows.scope import Scope
from cdckit_mysql.values.column import ColumnValue

_IMAGES_KEPT = 64
_Absent = tuple[Any]


class RowDecoder:
    """Reads the rows events of one table in one definition.

    Args:
        table: the table as the log announces it.
        columns: for each of its columns what it is in the events, or None to leave it out.

    Raises:
        DecodeError: the definition does not fit what the log announces; the message names the column.
    """

    def __init__(self, table: TableMap, columns: Sequence[ColumnValue | None]) -> None:
        self.table = table
        self.columns = tuple(columns)
        if len(columns) != len(table.types):
            raise self._error(
                f"the log has {len(table.types)} columns, the definition {len(columns)}: "
                "the schema history does not fit this position"
            )
        self._scope = Scope()
        self._cells = [self._cell(place) for place in range(len(columns))]
        self._images: dict[tuple[bytes, bool], ImageReader] = {}

    def write_rows(self, event: RowsEvent) -> list[Row]:
        """The rows of an insert.

        Raises:
            DecodeError: the rows do not fit the definition, or are damaged.
        """
        return self._guarded(event, self._even_rows)

    def delete_rows(self, event: RowsEvent) -> list[Row]:
        """The rows of a delete, as they were; raises as `write_rows`."""
        return self.write_rows(event)

    def update_rows(self, event: RowsEvent) -> list[tuple[Row, Row]]:
        """The rows of an update, before and after; raises as `write_rows`.

        A column that the after image does not carry was not changed: it has its value before, where that is known.
        """
        if event.partial:
            rows = self._guarded(event, self._partial_rows)
        elif event.columns != event.columns_after:
            rows = self._guarded(event, self._uneven_rows)
        else:
            rows = self.write_rows(event)
        images = iter(rows)
        return list(zip(images, images, strict=True))

    def _guarded(self, event: RowsEvent, read: Callable[[RowsEvent], list[Row]]) -> list[Row]:
        try:
            return read(event)
        except DecodeError as error:
            raise self._error(f"rows event at {event.start}: {error}") from error
        except (struct.error, IndexError, KeyError, ValueError, OverflowError) as error:
            raise self._error(
                f"the rows event at {event.start} does not fit the table's definition: {error}"
            ) from error

    def _even_rows(self, event: RowsEvent) -> list[Row]:
        """The images of an event that all hold the same columns."""
        rows: list[Row] = []
        end = self._reader(event.columns).read(event.data, event.data_start, event.data_end, rows.append)
        self._require_end(event, end)
        return rows

    def _require_end(self, event: RowsEvent, end: int) -> None:
        if end != event.data_end:
            raise DecodeError(f"the rows end {end - event.data_end:+} bytes from where the event ends")

    def _uneven_rows(self, event: RowsEvent) -> list[Row]:
        """Updates whose images hold different columns."""
        before, after = self._reader(event.columns), self._reader(event.columns_after)
        unchanged = self._unchanged(event)
        images: list[Row] = []
        data, at, end = event.data, event.data_start, event.data_end
        while at < end:
            at = before.read(data, at, at + 1, images.append)
            at = after.read(data, at, at + 1, images.append)
            if unchanged:
                images[-1] = _filled(images[-1], images[-2], unchanged)
        self._require_end(event, at)
        return images

    def _unchanged(self, event: RowsEvent) -> list[int]:
        """The places in the tuples of the columns that only the before images hold."""
        kept = [place for place, column in enumerate(self.columns) if column is not None]
        return [
            index
            for index, place in enumerate(kept)
            if _holds(event.columns, place) and not _holds(event.columns_after, place)
        ]

    def _partial_rows(self, event: RowsEvent) -> list[Row]:
        """Updates whose after images may hold, of JSON documents, only what was changed."""
        before, after = (
            self._reader(event.columns, raw_json=True),
            self._reader(event.columns_after, raw_json=True),
        )
        images, end = partial_updates(event, before, after, self._json_columns)
        self._require_end(event, end)
        unchanged = self._unchanged(event)
        for place in range(1, len(images), 2) if unchanged else ():
            images[place] = _filled(images[place], images[place - 1], unchanged)
        return images

    @cached_property
    def _json_columns(self) -> list[tuple[int, ColumnValue] | None]:
        """The places in the tuples of the table's JSON columns."""
        kept = [place for place, value in enumerate(self.columns) if value is not None]
        return [
            None if value is None else (kept.index(place), value)
            for place, value in enumerate(self.columns)
            if self.table.types[place] == column_types.JSON
        ]

    def _reader(self, columns: bytes, *, raw_json: bool = False) -> ImageReader:
        """The reader of images that hold the columns whose bits are set."""
        reader = self._images.get((columns, raw_json))
        if reader is None:
            if len(self._images) >= _IMAGES_KEPT:
                self._images.clear()
            reader = self._images[columns, raw_json] = self._make_reader(columns, raw_json=raw_json)
        return reader

    def _make_reader(self, columns: bytes, *, raw_json: bool) -> ImageReader:
        found: list[Column | _Absent] = []
        for place, value in enumerate(self.columns):
            if _holds(columns, place):
                found.append(self._column(place, raw_json=raw_json))
            elif value is not None:
                raw = raw_json and self.table.types[place] == column_types.JSON
                found.append((ABSENT if raw else value.absent,))
        return ImageReader(found, self._scope, f"rows of {self.table.database}.{self.table.name}")

    def _column(self, place: int, *, raw_json: bool) -> Column:
        value = self.columns[place]
        if raw_json and self.table.types[place] == column_types.JSON:
            return Column(json_bytes_cell(self.table.metadata[place]), None, value is not None)
        return Column(self._cells[place], None if value is None else value.null, value is not None)

    def _cell(self, place: int) -> Cell:
        value = self.columns[place]
        column_type, metadata = self.table.types[place], self.table.metadata[place]
        try:
            if value is None:
                return skipped_cell(column_type, metadata)
            return log_cell(column_type, metadata, value, self._scope)
        except DecodeError as error:
            raise self._error(str(error)) from error

    def _error(self, message: str) -> DecodeError:
        return DecodeError(f"{self.table.database}.{self.table.name}: {message}")


def _holds(columns: bytes, place: int) -> bool:
    return bool(columns[place >> 3] >> (place & 7) & 1)


def _filled(after: Row, before: Row, places: list[int]) -> Row:
    values = list(after)
    for place in places:
        values[place] = before[place]
    return tuple(values)
