"""From an event's bytes to a `LogEvent`, with the state that an event needs of those before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from cdckit import DecodeError
from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.compression import payload_events
from cdckit_mysql.binlog.event_types import LOG_EVENT_ARTIFICIAL_F
from cdckit_mysql.binlog.events import (
    AnnotateRows,
    AnonymousGtid,
    FormatDescription,
    Gtid,
    Header,
    Heartbeat,
    Incident,
    LogEvent,
    MariaDbGtid,
    MariaDbGtidList,
    PreviousGtids,
    Rotate,
    RowsQuery,
    StatementContext,
    Stop,
    TaggedGtid,
    Unread,
    XaPrepare,
    Xid,
)
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.integrity import CHECKSUM_SIZE, CRC32, DAMAGE, misread
from cdckit_mysql.binlog.place import HEADER, HEADER_SIZE, LogPlace
from cdckit_mysql.binlog.query import CompressedQuery, LoadQuery, Query
from cdckit_mysql.binlog.rows_event import ROWS_EVENT_TYPES, STATEMENT_END, RowsEvent
from cdckit_mysql.binlog.tables import TableMap, TableMapEvent, read_table_map

# A rows event of this table has no rows and only ends a statement (MySQL source, `Rows_log_event::do_apply_event`).
_DUMMY_TABLE_ID = 0xFFFFFF
_TABLES_KEPT = 4096

_CLASSES: dict[int, type[LogEvent]] = {
    event_types.ROTATE: Rotate,
    event_types.FORMAT_DESCRIPTION: FormatDescription,
    event_types.TABLE_MAP: TableMapEvent,
    event_types.STOP: Stop,
    event_types.INTVAR: StatementContext,
    event_types.RAND: StatementContext,
    event_types.USER_VAR: StatementContext,
    event_types.BEGIN_LOAD_QUERY: StatementContext,
    event_types.EXECUTE_LOAD_QUERY: LoadQuery,
    event_types.QUERY: Query,
    event_types.XID: Xid,
    event_types.INCIDENT: Incident,
    event_types.HEARTBEAT: Heartbeat,
    event_types.HEARTBEAT_V2: Heartbeat,
    event_types.IGNORABLE: Unread,
    event_types.ROWS_QUERY: RowsQuery,
    event_types.GTID: Gtid,
    event_types.ANONYMOUS_GTID: AnonymousGtid,
    event_types.TAGGED_GTID: TaggedGtid,
    event_types.PREVIOUS_GTIDS: PreviousGtids,
    event_types.TRANSACTION_CONTEXT: Unread,
    event_types.VIEW_CHANGE: Unread,
    event_types.XA_PREPARE: XaPrepare,
    event_types.MARIADB_ANNOTATE_ROWS: AnnotateRows,
    event_types.MARIADB_BINLOG_CHECKPOINT: Unread,
    event_types.MARIADB_GTID: MariaDbGtid,
    event_types.MARIADB_GTID_LIST: MariaDbGtidList,
    event_types.MARIADB_START_ENCRYPTION: Unread,
    event_types.MARIADB_QUERY_COMPRESSED: CompressedQuery,
    **dict.fromkeys(ROWS_EVENT_TYPES, RowsEvent),
}

_UNUSUAL = (Rotate, FormatDescription, Heartbeat)
_USUAL = {code: kind for code, kind in _CLASSES.items() if kind not in _UNUSUAL}
"""The events whose place is always told by their header."""
_STATEFUL = frozenset({Rotate, FormatDescription, TableMapEvent, RowsEvent})
"""Events that depend on others, or that others depend on."""


class EventParser:
    """Reads the events of one log, in order.

    Args:
        file: the file that the first event stands in, "" if a ROTATE will tell.
        position: where in it the first event stands.
        checksums: whether events end in a checksum, until a FORMAT_DESCRIPTION tells.

    Attributes:
        file: the file of the event that was parsed last.
        server_version: who wrote the file.
    """

    def __init__(self, file: str = "", position: int = 4, *, checksums: bool = False) -> None:
        self.file = file
        self.server_version = ""
        self._place = LogPlace(position)
        self._checksum = CHECKSUM_SIZE if checksums else 0
        self._announced: dict[bytes, TableMap] = {}
        self._open: dict[int, TableMap] = {}
        self._statement_ended = False
        self._finish: dict[type[LogEvent], Callable[[Any], LogEvent]] = {
            Rotate: self._rotate,
            FormatDescription: self._format_description,
            TableMapEvent: self._table_map,
            RowsEvent: self._rows,
        }

    @property
    def position(self) -> int:
        """The position behind the event that was parsed last."""
        return self._place.position

    @property
    def checksums(self) -> bool:
        """Whether events end in a checksum."""
        return self._checksum > 0

    def announced_by(self, before: Self) -> None:
        """Goes on within a statement whose tables another parser has met."""
        self._announced, self._open = before._announced, before._open

    def events(self, spans: Iterable[Span]) -> Iterator[LogEvent]:
        """The events that lie in `spans`, in order; those inside a compressed transaction one by one.

        Raises:
            DecodeError: one cannot be understood; the message names file, position and type.
        """
        place, unpack, usual = self._place, HEADER.unpack_from, _USUAL.get
        buffer, at, end = b"", 0, 0
        try:
            for buffer, at, end in spans:
                make = usual(buffer[at + 4])
                header = unpack(buffer, at)
                behind = header[4]
                # Nearly all events take this way, without a call but that of their class. Heads of files, heartbeats,
                # events of newer servers and places beyond 2 GiB take the long one.
                if make is None or not behind or header[5] & LOG_EVENT_ARTIFICIAL_F or place.far:
                    yield from self.parse(buffer, at, end)
                    continue
                place.position = behind
                event = make(header, behind - header[3], behind, buffer, at + HEADER_SIZE, end - self._checksum)
                yield self._finish[make](event) if make in _STATEFUL else event
        except DAMAGE as error:
            raise self.misread((buffer, at, end), error) from error

    def misread(self, span: Span, error: Exception) -> DecodeError:
        """The error for an event that cannot be understood, with its place; whoever reads events raises it."""
        buffer, at, end = span
        start = self.position
        if end - at >= HEADER_SIZE:
            start, _ = self._place.advance(HEADER.unpack_from(buffer, at))  # a second time changes nothing
        return misread(self.file, start, buffer[at:end], error)

    def parse(self, buffer: bytes, at: int, end: int) -> Iterator[LogEvent]:
        """The event that lies between `at` and `end`, or those inside it; raises as `event`."""
        if buffer[at + 4] == event_types.TRANSACTION_PAYLOAD:
            return self._payload(buffer, at, end)
        return iter((self.event(buffer, at, end),))

    def event(self, buffer: bytes, at: int, end: int) -> LogEvent:
        """The event that lies between `at` and `end`, which is no compressed transaction.

        Raises one of `DAMAGE` where it cannot be understood, which `misread` tells of.
        """
        header = HEADER.unpack_from(buffer, at)
        place = self._place.advance(header)
        return self._read(header, place, buffer, at + HEADER_SIZE, end - self._checksum)

    def _payload(self, buffer: bytes, at: int, end: int) -> Iterator[LogEvent]:
        """The events of a compressed transaction; they have neither place nor checksum of their own."""
        place = self._place.advance(HEADER.unpack_from(buffer, at))
        for inner, first, last in payload_events(buffer, at + HEADER_SIZE, end - self._checksum):
            header = HEADER.unpack_from(inner, first)
            yield self._read(header, place, inner, first + HEADER_SIZE, last)

    def _read(self, header: Header, place: tuple[int, int], buffer: bytes, body: int, limit: int) -> LogEvent:
        event = _CLASSES.get(header[1], Unread)(header, place[0], place[1], buffer, body, limit)
        if header[1] not in _CLASSES:
            self._require_ignorable(event)
        return self._finish[event.__class__](event) if event.__class__ in _STATEFUL else event

    def _require_ignorable(self, event: LogEvent) -> None:
        if not event.header[5] & event_types.LOG_EVENT_IGNORABLE_F:
            raise DecodeError(
                f"{self.file}:{event.start}: an event of type {event.type} is not known and may not be ignored: "
                f"the server ({self.server_version or 'unknown version'}) is newer than this reader"
            )

    def _rotate(self, event: Rotate) -> LogEvent:
        self.file, self._place.position = event.file, event.position
        return event

    def _format_description(self, event: FormatDescription) -> LogEvent:
        """The byte before its own checksum, which it always has, tells whether the others have one."""
        event.limit += self._checksum - CHECKSUM_SIZE
        self._checksum = CHECKSUM_SIZE if event.buffer[event.limit - 1] == CRC32 else 0
        self.server_version = event.server_version
        return event

    def _table_map(self, event: TableMapEvent) -> LogEvent:
        data = event.buffer[event.body : event.limit]
        # A table is announced before each statement, mostly by the same bytes: it is then the same object, by which the
        # decoder for it is found. New bytes, after FLUSH TABLES or a restart, are another table.
        table = self._announced.get(data)
        if table is None:
            table = read_table_map(data)
            if len(self._announced) >= _TABLES_KEPT:
                self._announced.clear()
            self._announced[data] = table
        # A table's number holds for its statement: several tables are announced together, so the last statement's are
        # let go of when the next one announces its first.
        if self._statement_ended:
            self._open.clear()
            self._statement_ended = False
        self._open[table.table_id] = event.table = table
        return event

    def _rows(self, event: RowsEvent) -> LogEvent:
        event.read_post_header()
        table = self._open.get(event.table_id)
        if table is None:
            if event.table_id == _DUMMY_TABLE_ID:
                return Unread(event.header, event.start, event.end, event.buffer, event.body, event.limit)
            raise DecodeError(
                f"rows of table number {event.table_id}, which no TABLE_MAP has announced: the reading did not begin "
                "at the start of a transaction"
            )
        event.table = table
        if event.flags & STATEMENT_END:
            self._statement_ended = True
        return event
