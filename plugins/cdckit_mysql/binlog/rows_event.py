"""Rows events: the images of rows that a statement wrote, changed or deleted, in one table.

MySQL source documentation, "class Rows_event"; MariaDB knowledge base, "ROWS_EVENT_V1/V2" and "Compressed rows events".
The rows themselves are read by `cdckit_mysql.rows`.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Literal

from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.compression import inflate, packed_integer
from cdckit_mysql.binlog.events import LogEvent
from cdckit_mysql.binlog.tables import TableMap

Change = Literal["write", "update", "delete"]


@dataclass(frozen=True, slots=True)
class _Format:
    """What a type of rows event is and holds."""

    change: Change
    extra_data: bool = True
    compressed: bool = False
    partial: bool = False


_FORMATS: dict[int, _Format] = {
    event_types.WRITE_ROWS_V1: _Format("write", extra_data=False),
    event_types.UPDATE_ROWS_V1: _Format("update", extra_data=False),
    event_types.DELETE_ROWS_V1: _Format("delete", extra_data=False),
    event_types.WRITE_ROWS: _Format("write"),
    event_types.UPDATE_ROWS: _Format("update"),
    event_types.DELETE_ROWS: _Format("delete"),
    event_types.PARTIAL_UPDATE_ROWS: _Format("update", partial=True),
    event_types.MARIADB_WRITE_ROWS_COMPRESSED_V1: _Format("write", extra_data=False, compressed=True),
    event_types.MARIADB_UPDATE_ROWS_COMPRESSED_V1: _Format("update", extra_data=False, compressed=True),
    event_types.MARIADB_DELETE_ROWS_COMPRESSED_V1: _Format("delete", extra_data=False, compressed=True),
    event_types.MARIADB_WRITE_ROWS_COMPRESSED: _Format("write", compressed=True),
    event_types.MARIADB_UPDATE_ROWS_COMPRESSED: _Format("update", compressed=True),
    event_types.MARIADB_DELETE_ROWS_COMPRESSED: _Format("delete", compressed=True),
}
ROWS_EVENT_TYPES = frozenset(_FORMATS)
STATEMENT_END = 0x0001
_POST_HEADER = Struct("<IHHH").unpack_from
"""The table's number in two parts, flags, and (version 2) the length of extra data with itself."""


class RowsEvent(LogEvent):
    """Images of rows of one table.

    Attributes:
        table: the table, as the log announced it.
        table_id: the number by which TABLE_MAP announced it.
        change: what was done to the rows.
        partial: whether after images may hold differences of JSON documents.
        flags: bit 0: the statement ends with this event.
        columns: the bits of the columns in each image (of the before images of an update).
        columns_after: the bits of the columns in an update's after images.
        data: the bytes that hold the images, decompressed.
        data_start: where the images begin in `data`.
        data_end: where they end.
    """

    __slots__ = (
        "change", "columns", "columns_after", "data", "data_end", "data_start", "flags", "partial", "table", "table_id",
    )  # fmt: skip

    table: TableMap

    def read_post_header(self) -> None:
        """Find the bits of the columns and the images; called once, by the parser."""
        form = _FORMATS[self.header[1]]
        buffer, body = self.buffer, self.body
        self.change, self.partial = form.change, form.partial
        low, high, self.flags, extra = _POST_HEADER(buffer, body)
        self.table_id = low | high << 32
        at = body + 8 + extra if form.extra_data else body + 8
        count = buffer[at]
        if count < 251:
            at += 1
        else:
            count, at = packed_integer(buffer, at)
        size = (count + 7) >> 3
        self.columns = self.columns_after = buffer[at : at + size]
        at += size
        if form.change == "update":
            self.columns_after = buffer[at : at + size]
            at += size
        if form.compressed:
            self.data = inflate(buffer, at, self.limit)
            self.data_start, self.data_end = 0, len(self.data)
        else:
            self.data, self.data_start, self.data_end = buffer, at, self.limit

    def with_images(self, change: Change, columns: bytes, columns_after: bytes, images: bytes) -> RowsEvent:
        """An event in this one's place with other images, of the columns whose bits are set."""
        made = RowsEvent(self.header, self.start, self.end, self.buffer, self.body, self.limit)
        made.table, made.table_id, made.flags, made.partial = self.table, self.table_id, self.flags, self.partial
        made.change, made.columns, made.columns_after = change, columns, columns_after
        made.data, made.data_start, made.data_end = images, 0, len(images)
        return made
