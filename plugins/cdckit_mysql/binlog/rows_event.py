"""Rows events: the images of rows that a statement wrote, changed or deleted, in one table.

MySQL source documentation, "class Rows_event"; MariaDB knowledge base, "ROWS_EVENT_V1/V2" and "Compressed rows events".
The rows themselves are read by `cdckit_mysql.rows`.
"""

from __future__ import annotations

from struct import Struct
from typing import Literal

from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.compression import inflate, packed_integer
from cdckit_mysql.binlog.events import LogEvent
from cdckit_mysql.binlog.tables import TableMap

Change = Literal["write", "update", "delete"]

CHANGES: dict[int, Change] = {
    event_types.WRITE_ROWS_V1: "write",
    event_types.UPDATE_ROWS_V1: "update",
    event_types.DELETE_ROWS_V1: "delete",
    event_types.WRITE_ROWS: "write",
    event_types.UPDATE_ROWS: "update",
    event_types.DELETE_ROWS: "delete",
    event_types.PARTIAL_UPDATE_ROWS: "update",
    event_types.MARIADB_WRITE_ROWS_COMPRESSED_V1: "write",
    event_types.MARIADB_UPDATE_ROWS_COMPRESSED_V1: "update",
    event_types.MARIADB_DELETE_ROWS_COMPRESSED_V1: "delete",
    event_types.MARIADB_WRITE_ROWS_COMPRESSED: "write",
    event_types.MARIADB_UPDATE_ROWS_COMPRESSED: "update",
    event_types.MARIADB_DELETE_ROWS_COMPRESSED: "delete",
}
_WITH_EXTRA_DATA = frozenset(
    {
        event_types.WRITE_ROWS,
        event_types.UPDATE_ROWS,
        event_types.DELETE_ROWS,
        event_types.PARTIAL_UPDATE_ROWS,
        event_types.MARIADB_WRITE_ROWS_COMPRESSED,
        event_types.MARIADB_UPDATE_ROWS_COMPRESSED,
        event_types.MARIADB_DELETE_ROWS_COMPRESSED,
    }
)
_COMPRESSED = frozenset(
    range(event_types.MARIADB_WRITE_ROWS_COMPRESSED_V1, event_types.MARIADB_DELETE_ROWS_COMPRESSED + 1)
)
STATEMENT_END = 0x0001
_POST_HEADER = Struct("<IHHH").unpack_from
"""The table's number in two parts, flags, and (version 2) the length of extra data with itself."""


class RowsEvent(LogEvent):
    """Images of rows of one table.

    Attributes:
        table: the table, as the log announced it.
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
        "change", "columns", "columns_after", "data", "data_end", "data_start", "flags", "partial", "table",
    )  # fmt: skip

    table: TableMap

    def read_post_header(self) -> None:
        """Find the bits of the columns and the images; called once, by the parser."""
        code = self.header[1]
        buffer, limit = self.buffer, self.limit
        self.change = CHANGES[code]
        self.partial = code == event_types.PARTIAL_UPDATE_ROWS
        _, _, self.flags, extra = _POST_HEADER(buffer, self.body)
        at = self.body + 8 + extra if code in _WITH_EXTRA_DATA else self.body + 8
        count = buffer[at]
        if count < 251:
            at += 1
        else:
            count, at = packed_integer(buffer, at)
        size = (count + 7) >> 3
        self.columns = self.columns_after = buffer[at : at + size]
        at += size
        if self.change == "update":
            self.columns_after = buffer[at : at + size]
            at += size
        if code in _COMPRESSED:
            self.data = inflate(buffer, at, limit)
            self.data_start, self.data_end = 0, len(self.data)
        else:
            self.data, self.data_start, self.data_end = buffer, at, limit

    @property
    def table_id(self) -> int:
        """The number by which TABLE_MAP announced the table."""
        low, high, _, _ = _POST_HEADER(self.buffer, self.body)
        return int(low | high << 32)

    @property
    def ends_statement(self) -> bool:
        """Whether it is its statement's last rows event."""
        return bool(self.flags & STATEMENT_END)
