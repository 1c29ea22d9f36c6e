"""Changes of MariaDB's system-versioned tables, as changes of the rows that are there now.

The log has the versions of rows: each has an end, the last moment that there is for a row of now. An UPDATE is the
update of that row and the insert of its old version, a DELETE an update that ends the row, DELETE HISTORY a delete of
old versions: https://mariadb.com/kb/en/system-versioned-tables/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from cdckit import DecodeError
from cdckit_mysql.binlog import column_types
from cdckit_mysql.binlog.rows_event import Change, RowsEvent
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.rows.cell import Cell, Scope
from cdckit_mysql.rows.image import ImageReader
from cdckit_mysql.rows.log_cells import skipped_cell
from cdckit_mysql.rows.row_reader import Column, Row
from cdckit_mysql.table import Table

_LAST_MOMENTS = frozenset({(0x7FFFFFFF, 999_999), (0xFFFFFFFF, 999_999)})
"""Seconds and microseconds: in 2038, and in 2106 for servers from 11.5 on."""
_LAST_TRANSACTION = (1 << 64) - 1
_DIGITS = 6
_PERIOD_TYPES = ("TIMESTAMP", "BIGINT UNSIGNED")
_CHANGES: dict[tuple[bool, bool], Change] = {(True, True): "update", (True, False): "delete", (False, True): "write"}
"""What an update is, by whether the row before it and the one after it are rows of now."""


class _Changed(NamedTuple):
    """One row's change: what it is to the rows of now, and the bytes of the images that tell it."""

    change: Change
    images: bytes


def row_end_place(announced: TableMap, table: Table, *, hidden: bool) -> int:
    """The place of the column that holds a version's end, from 0.

    Args:
        announced: the table as the log announces it.
        table: its definition.
        hidden: whether the log has the period's columns behind those of the definition.

    Raises:
        DecodeError: nothing tells which column it is.
    """
    if hidden:
        return len(table.columns) + 1
    named = [place for place, column in enumerate(table.columns) if column.row_end]
    places = named or _in_key(announced, table)
    if len(places) != 1:
        raise DecodeError(
            f"{table.id} is system-versioned, and the definition in the schema history, of an earlier release, does "
            "not tell which column ends a version (ROW END): a new snapshot of the definitions is needed: start with "
            "a new state folder"
        )
    return places[0]


def _in_key(announced: TableMap, table: Table) -> list[int]:
    """The places of what may be a period's columns in the primary key, to which the server adds the end alone."""
    in_log = announced.column_metadata.primary_key or ()
    return [
        place
        for place, column in enumerate(table.columns)
        if column.generated
        and column.type_name in _PERIOD_TYPES
        and (place in in_log or column.name in table.primary_key)
    ]


class CurrentRows:
    """Tells the changes of rows of now in the rows events of one table.

    Args:
        announced: the table as the log announces it.
        row_end: the place of the column that holds a version's end, from 0.

    Raises:
        DecodeError: the log stores that column in a way that is not understood.
    """

    def __init__(self, announced: TableMap, row_end: int) -> None:
        self._row_end = row_end
        self._scope = Scope()
        self._cells = [skipped_cell(*stored) for stored in zip(announced.types, announced.metadata, strict=True)]
        self._cells[row_end] = _end_cell(announced, row_end, self._scope)
        self._readers: dict[bytes, ImageReader] = {}

    def parts(self, event: RowsEvent) -> Sequence[RowsEvent]:
        """What an event changes in the rows of now: an event for each run of changes of one kind, in order.

        Raises:
            DecodeError: the images do not tell of a row whether it is one of now, or are damaged.
        """
        changed = list(self._updates(event) if event.change == "update" else self._images(event))
        told = sum(len(one.images) for one in changed)
        if told == event.data_end - event.data_start:
            return [event]
        runs = groupby(changed, key=lambda one: one.change)
        return [_part(event, change, b"".join(one.images for one in run)) for change, run in runs]

    def _images(self, event: RowsEvent) -> Iterator[_Changed]:
        """The rows of now among those that an event inserts or deletes."""
        reader, at = self._reader(event.columns), event.data_start
        while at < event.data_end:
            current, end = self._current(event, reader, at)
            if current:
                yield _Changed(event.change, event.data[at:end])
            at = end
        _check_end(event, at)

    def _updates(self, event: RowsEvent) -> Iterator[_Changed]:
        """The changes of rows of now among those that an event updates."""
        before, after, at = self._reader(event.columns), self._reader(event.columns_after), event.data_start
        while at < event.data_end:
            was_current, between = self._current(event, before, at)
            current, end = self._current(event, after, between)
            change = _CHANGES.get((was_current, current))
            if change is not None:
                first, last = between if change == "write" else at, between if change == "delete" else end
                yield _Changed(change, event.data[first:last])
            at = end
        _check_end(event, at)

    def _current(self, event: RowsEvent, reader: ImageReader, at: int) -> tuple[bool, int]:
        """Whether the row of the image at a place is one of now, and where the image ends."""
        found: list[Row] = []
        end = reader.read(event.data, at, at + 1, found.append)
        return found[0][0], end

    def _reader(self, columns: bytes) -> ImageReader:
        """The reader of images that hold the columns whose bits are set."""
        reader = self._readers.get(columns)
        if reader is None:
            held = [place for place in range(len(self._cells)) if columns[place >> 3] >> (place & 7) & 1]
            if self._row_end not in held:
                raise DecodeError("an image lacks the end of its version (ROW END), which binlog_row_image=FULL logs")
            reader = self._readers[columns] = ImageReader([self._column(place) for place in held], self._scope)
        return reader

    def _column(self, place: int) -> Column:
        if place != self._row_end:
            return Column(self._cells[place], None, kept=False)
        return Column(self._cells[place], None, kept=True, required="ROW END")


def _part(event: RowsEvent, change: Change, images: bytes) -> RowsEvent:
    """An event with a part of another one's images."""
    columns = event.columns_after if change == "write" else event.columns
    return event.with_images(change, columns, event.columns_after if change == "update" else columns, images)


def _check_end(event: RowsEvent, at: int) -> None:
    if at != event.data_end:
        raise DecodeError(f"the rows end {at - event.data_end:+} bytes from the event's end")


def _end_cell(announced: TableMap, place: int, scope: Scope) -> Cell:
    """Whether a version's end is the last moment that there is."""
    kind, digits = announced.types[place], announced.metadata[place]
    if (kind, digits) == (column_types.TIMESTAMP2, _DIGITS):
        return Cell("IHB", 7, ">", f"({{0}}, {{1}} << 8 | {{2}}) in {scope.name(_LAST_MOMENTS)}")
    if kind == column_types.LONGLONG:
        return Cell("Q", 8, value=f"{{0}} == {_LAST_TRANSACTION}")
    raise DecodeError(f"ROW END is stored as type {kind} with {digits} digits, which is not known")
