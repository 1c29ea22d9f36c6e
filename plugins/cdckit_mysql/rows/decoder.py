"""Rows events to tuples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from cdckit import DecodeError
from cdckit_mysql.binlog import column_types
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.rows.cell import Cell, Scope
from cdckit_mysql.rows.image import ImageReader
from cdckit_mysql.rows.log_cells import json_bytes_cell, log_cell, skipped_cell
from cdckit_mysql.rows.partial import ABSENT, partial_updates
from cdckit_mysql.rows.row_reader import Column, Row
from cdckit_mysql.values.column import ColumnValue
from cdckit_mysql.values.conversion_failures import FAILURES

_IMAGES_KEPT = 64


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
        self._images: dict[bytes, ImageReader] = {}
        self._raw_json_images: dict[bytes, ImageReader] = {}

    def write_rows(self, event: RowsEvent) -> list[Row]:
        """The rows of an insert.

        Raises:
            DecodeError: the rows do not fit the definition, or are damaged.
        """
        rows: list[Row] = []
        try:
            reader = self._images.get(event.columns) or self._reader(event.columns)
            end = reader.read(event.data, event.data_start, event.data_end, rows.append)
        except FAILURES as error:
            raise self._failure(event, error) from error
        if end != event.data_end:
            raise self._misfit(event, end)
        return rows

    def delete_rows(self, event: RowsEvent) -> list[Row]:
        """The rows of a delete, as they were; raises as `write_rows`."""
        return self.write_rows(event)

    def update_rows(self, event: RowsEvent) -> list[tuple[Row, Row]]:
        """The rows of an update, before and after; raises as `write_rows`.

        A column that the after image does not carry was not changed: it has its value before, where that is known.
        """
        # Images that hold the same columns are one sequence: before and after are read as if they were rows of an
        # insert, by one function, and then taken in pairs.
        if event.columns == event.columns_after and not event.partial:
            images = iter(self.write_rows(event))
        else:
            images = iter(self._updates(event))
        return list(zip(images, images, strict=True))

    def absent(self, event: RowsEvent) -> list[int]:
        """The places in the event's rows of the columns that no image of the row holds."""
        kept = [place for place, column in enumerate(self.columns) if column is not None]
        return [
            index
            for index, place in enumerate(kept)
            if not (_holds(event.columns, place) or _holds(event.columns_after, place))
        ]

    def incomplete(self, event: RowsEvent) -> list[int]:
        """The places in the event's rows of the columns that some image of the row lacks."""
        kept = [place for place, column in enumerate(self.columns) if column is not None]
        return [
            index
            for index, place in enumerate(kept)
            if not (_holds(event.columns, place) and _holds(event.columns_after, place))
        ]

    def _updates(self, event: RowsEvent) -> list[Row]:
        """The images, before and after in turn, of updates whose images differ in what they hold."""
        try:
            images, end = self._partial_images(event) if event.partial else self._uneven_images(event)
        except FAILURES as error:
            raise self._failure(event, error) from error
        if end != event.data_end:
            raise self._misfit(event, end)
        unchanged = self._unchanged(event)
        for place in range(1, len(images), 2) if unchanged else ():
            images[place] = _filled(images[place], images[place - 1], unchanged)
        return images

    def _uneven_images(self, event: RowsEvent) -> tuple[list[Row], int]:
        before, after = self._reader(event.columns), self._reader(event.columns_after)
        images: list[Row] = []
        data, at, end = event.data, event.data_start, event.data_end
        while at < end:
            begun = at
            at = before.read(data, at, at + 1, images.append)
            at = after.read(data, at, at + 1, images.append)
            # Images of no column have no bytes: damage that says so would loop for ever.
            if at == begun:
                raise DecodeError("neither image has a column")
        return images, at

    def _partial_images(self, event: RowsEvent) -> tuple[list[Row], int]:
        before, after = self._raw_json_reader(event.columns), self._raw_json_reader(event.columns_after)
        return partial_updates(event, before, after, self._json_columns)

    def _unchanged(self, event: RowsEvent) -> list[int]:
        """The places in the tuples of the columns that only the before images hold."""
        kept = [place for place, column in enumerate(self.columns) if column is not None]
        return [
            index
            for index, place in enumerate(kept)
            if _holds(event.columns, place) and not _holds(event.columns_after, place)
        ]

    @cached_property
    def _json_columns(self) -> list[tuple[int, ColumnValue] | None]:
        """The places in the tuples of the table's JSON columns."""
        kept = [place for place, value in enumerate(self.columns) if value is not None]
        return [
            None if value is None else (kept.index(place), value)
            for place, value in enumerate(self.columns)
            if self.table.types[place] == column_types.JSON
        ]

    def _reader(self, columns: bytes) -> ImageReader:
        """The reader of images that hold the columns whose bits are set."""
        reader = self._images.get(columns)
        if reader is None:
            if len(self._images) >= _IMAGES_KEPT:
                self._images.clear()
            reader = self._images[columns] = self._make_reader(columns, frozenset())
        return reader

    def _raw_json_reader(self, columns: bytes) -> ImageReader:
        """The same with JSON columns as the server's bytes."""
        reader = self._raw_json_images.get(columns)
        if reader is None:
            if len(self._raw_json_images) >= _IMAGES_KEPT:
                self._raw_json_images.clear()
            raw = frozenset(p for p, kind in enumerate(self.table.types) if kind == column_types.JSON)
            reader = self._raw_json_images[columns] = self._make_reader(columns, raw)
        return reader

    def _make_reader(self, columns: bytes, raw: frozenset[int]) -> ImageReader:
        """A reader; of the columns whose places are in `raw` it gives the bytes."""
        found: list[Column | tuple[Any]] = []
        for place, value in enumerate(self.columns):
            if _holds(columns, place):
                found.append(self._raw_column(place) if place in raw else self._column(place))
            elif value is not None:
                # `binlog_row_image` other than FULL: the tuple keeps its shape, with a mark for what the log does not
                # tell.
                found.append((ABSENT if place in raw else value.absent,))
        return ImageReader(found, self._scope)

    def _raw_column(self, place: int) -> Column:
        return Column(json_bytes_cell(self.table.metadata[place]), None, self.columns[place] is not None)

    def _column(self, place: int) -> Column:
        value = self.columns[place]
        if value is None:
            # A column that is left out is still gone over: only its length tells where the next one begins.
            return Column(self._cells[place], None, kept=False)
        required = value.column.name if value.identifies else ""
        return Column(self._cells[place], value.null, kept=True, required=required)

    def _cell(self, place: int) -> Cell:
        value = self.columns[place]
        column_type, metadata = self.table.types[place], self.table.metadata[place]
        try:
            if value is None:
                return skipped_cell(column_type, metadata)
            return log_cell(column_type, metadata, value, self._scope)
        except DecodeError as error:
            raise self._error(str(error)) from error
        except (IndexError, KeyError, ValueError) as error:
            raise self._error(f"the log describes column {place + 1} by type {column_type} and {metadata}") from error

    def _failure(self, event: RowsEvent, error: Exception) -> DecodeError:
        if isinstance(error, DecodeError):
            return self._error(f"rows event at {event.start}: {error}")
        return self._error(f"the rows event at {event.start} does not fit the table's definition: {error}")

    def _misfit(self, event: RowsEvent, end: int) -> DecodeError:
        return self._failure(event, DecodeError(f"the rows end {end - event.data_end:+} bytes from the event's end"))

    def _error(self, message: str) -> DecodeError:
        return DecodeError(f"{self.table.database}.{self.table.name}: {message}")


def _holds(columns: bytes, place: int) -> bool:
    return bool(columns[place >> 3] >> (place & 7) & 1)


def _filled(after: Row, before: Row, places: list[int]) -> Row:
    values = list(after)
    for place in places:
        values[place] = before[place]
    return tuple(values)
