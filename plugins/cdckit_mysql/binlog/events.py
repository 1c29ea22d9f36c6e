"""The log's events: a header, a place in the log, and a body which is read when it is asked for.

MySQL source documentation, "Binlog Event" (`libs/mysql/binlog/event/`); MariaDB knowledge base, "Replication Protocol".
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import ClassVar

from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.compression import packed_integer
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet, TransactionSource

Header = tuple[int, int, int, int, int, int]
"""timestamp (s since 1970), type, server id, size, end position (its low 32 bits), flags."""

_HEADER_SIZE = 19
_TIMES_AT = 42
"""Where the body of MySQL's GTID event has its times: behind flags (1), UUID (16), number (8), a type (1) and the two
numbers of the logical clock (16)."""
_U32 = Struct("<I").unpack_from
_U64 = Struct("<Q").unpack_from
_LIST_ENTRY = Struct("<IIQ")
"""domain, server, sequence"""
_LIST_COUNT = (1 << 28) - 1
"""The bits that count the entries of a list; the others are flags."""


class LogEvent:
    """One event of the log.

    Attributes:
        header: as it stands in the log.
        start: the event's position in its file; inside a compressed transaction, that of the event that holds it.
        end: the position behind it.
        buffer: the bytes that hold it.
        body: where its body begins in `buffer`.
        limit: where its body ends, checksum excluded.
    """

    __slots__ = ("body", "buffer", "end", "header", "limit", "start")

    def __init__(self, header: Header, start: int, end: int, buffer: bytes, body: int, limit: int) -> None:
        self.header = header
        self.start = start
        self.end = end
        self.buffer = buffer
        self.body = body
        self.limit = limit

    @property
    def timestamp(self) -> int:
        """When the statement began, in seconds since 1970."""
        return self.header[0]

    @property
    def type(self) -> int:
        """The event's code, see `event_types`."""
        return self.header[1]

    @property
    def server_id(self) -> int:
        """The server where the change was made."""
        return self.header[2]

    @property
    def artificial(self) -> bool:
        """Whether the server made it up for this connection: it has no place in the log."""
        return bool(self.header[5] & event_types.LOG_EVENT_ARTIFICIAL_F)

    def payload(self) -> bytes:
        """A copy of the body's bytes."""
        return self.buffer[self.body : self.limit]

    def whole(self) -> bytes:
        """A copy of the header's and the body's bytes."""
        return self.buffer[self.body - _HEADER_SIZE : self.limit]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} type {self.type} at {self.start} to {self.end}>"


class Rotate(LogEvent):
    """What follows stands in another file, or (artificial) this is the file that the connection reads."""

    __slots__ = ()

    @property
    def position(self) -> int:
        """Where the next event stands."""
        return int(_U64(self.buffer, self.body)[0])

    @property
    def file(self) -> str:
        """The file's name."""
        return self.buffer[self.body + 8 : self.limit].decode()


class FormatDescription(LogEvent):
    """The first event of each file: who wrote it and how."""

    __slots__ = ()

    @property
    def server_version(self) -> str:
        """The version of the server that wrote the file."""
        return self.buffer[self.body + 2 : self.body + 52].rstrip(b"\0").decode()


class Stop(LogEvent):
    """The server was shut down; the next file follows."""

    __slots__ = ()


class Gtid(LogEvent):
    """A transaction of MySQL begins, with its identifier."""

    __slots__ = ()

    @property
    def source(self) -> TransactionSource:
        """Who numbered the transaction."""
        at = self.body + 1
        return _transaction_source(self.buffer[at : at + 16])

    @property
    def number(self) -> int:
        """The transaction's number at its source."""
        return int(_U64(self.buffer, self.body + 17)[0])

    @property
    def gtid(self) -> str | None:
        """The identifier as text; None for an anonymous transaction."""
        return f"{self.source}:{self.number}"

    @property
    def commit_timestamp_us(self) -> int | None:
        """When it was committed at the server where it was made, in µs since 1970; None before MySQL 8.0."""
        at = self.body + _TIMES_AT
        if at + 7 > self.limit:
            return None
        immediate = int.from_bytes(self.buffer[at : at + 7], "little")
        # The highest bit says that the time at the original server follows; without it both are the same.
        return int.from_bytes(self.buffer[at + 7 : at + 14], "little") if immediate >> 55 else immediate

    @property
    def transaction_bytes(self) -> int:
        """How many bytes the transaction has in the log, with this event; 0 before MySQL 8.0, which does not tell."""
        at = self.body + _TIMES_AT
        if at + 7 > self.limit:
            return 0
        at += 14 if self.buffer[at + 6] >> 7 else 7
        return packed_integer(self.buffer, at)[0] if at < self.limit else 0


@lru_cache(maxsize=1024)
def _transaction_source(identifier: bytes) -> TransactionSource:
    return TransactionSource.of_bytes(identifier)


class AnonymousGtid(Gtid):
    """A transaction of MySQL begins, on a server without GTIDs."""

    __slots__ = ()

    @property
    def gtid(self) -> None:
        """None."""
        return


class TaggedGtid(Gtid):
    """A transaction of MySQL begins, with a tagged identifier.

    The body is a message of fields, each after its number (MySQL source documentation, "Library mysql_serialization").
    """

    __slots__ = ("_fields",)

    _fields: dict[int, int | bytes]

    def _field(self, number: int) -> int | bytes | None:
        if not hasattr(self, "_fields"):
            self._fields = _message_fields(self.buffer, self.body, self.limit)
        return self._fields.get(number)

    @property
    def source(self) -> TransactionSource:
        """Who numbered the transaction, with the tag."""
        uuid, tag = self._field(1), self._field(3)
        assert isinstance(uuid, bytes)
        return TransactionSource.of_bytes(uuid, tag if isinstance(tag, bytes) else b"")

    @property
    def number(self) -> int:
        """The transaction's number at its source and tag."""
        number = self._field(2)
        assert isinstance(number, int)
        return number

    @property
    def commit_timestamp_us(self) -> int | None:
        """When it was committed at the server where it was made, in µs since 1970."""
        immediate, original = self._field(6), self._field(7)
        time_us = immediate if original is None else original
        assert not isinstance(time_us, bytes)
        return time_us

    @property
    def transaction_bytes(self) -> int:
        """How many bytes the transaction has in the log, with this event."""
        size = self._field(8)
        return size if isinstance(size, int) else 0


def _message_fields(data: bytes, at: int, limit: int) -> dict[int, int | bytes]:
    """Read a Gtid_log_event message: version, size, last required field, then numbered fields.

    Of these, field 1 is sixteen numbers (the UUID), 3 is a string; 2, 4, 5 and 9 on are numbers; 2, 4 and 5 signed.
    """
    for _ in range(3):
        _, at = _varlen(data, at)
    fields: dict[int, int | bytes] = {}
    while at < limit:
        number, at = _varlen(data, at)
        if number == 1:
            octets = []
            for _ in range(16):
                octet, at = _varlen(data, at)
                octets.append(octet)
            fields[1] = bytes(octets)
        elif number == 3:
            size, at = _varlen(data, at)
            fields[3], at = data[at : at + size], at + size
        else:
            value, at = _varlen(data, at)
            fields[number] = value >> 1 ^ -(value & 1) if number in _SIGNED_FIELDS else value
    return fields


_SIGNED_FIELDS = (2, 4, 5)


def _varlen(data: bytes, at: int) -> tuple[int, int]:
    """A number whose count of bytes is told by the trailing 1 bits of the first, and where it ends."""
    first = data[at]
    extra = (~first & (first + 1)).bit_length() - 1
    if extra == 8:
        return int.from_bytes(data[at + 1 : at + 9], "little"), at + 9
    return int.from_bytes(data[at : at + 1 + extra], "little") >> (extra + 1), at + 1 + extra


class PreviousGtids(LogEvent):
    """The transactions of MySQL that stand in earlier files."""

    __slots__ = ()

    @property
    def gtids(self) -> GtidSet:
        """The set."""
        return GtidSet.from_wire(self.payload())


class MariaDbGtid(LogEvent):
    """A transaction of MariaDB begins, or stands alone. It stands for BEGIN too.

    Knowledge base, "GTID_EVENT".
    """

    __slots__ = ()

    STANDALONE: ClassVar[int] = 1
    GROUP_COMMIT: ClassVar[int] = 2
    DDL: ClassVar[int] = 32
    PREPARED_XA: ClassVar[int] = 64
    COMPLETED_XA: ClassVar[int] = 128
    START_ALTER: ClassVar[int] = 2
    COMMIT_ALTER: ClassVar[int] = 4
    ROLLBACK_ALTER: ClassVar[int] = 8

    @property
    def sequence(self) -> int:
        """The transaction's number in its domain."""
        return int(_U64(self.buffer, self.body)[0])

    @property
    def domain(self) -> int:
        """The replication domain."""
        return int(_U32(self.buffer, self.body + 8)[0])

    @property
    def gtid_flags(self) -> int:
        """The flags, see the constants of this class."""
        return self.buffer[self.body + 12]

    @property
    def standalone(self) -> bool:
        """Whether one event follows and no COMMIT: DDL, most of all."""
        return bool(self.gtid_flags & self.STANDALONE)

    @property
    def gtid(self) -> str:
        """The identifier as text."""
        return f"{self.domain}-{self.header[2]}-{self.sequence}"

    @property
    def alters_nothing(self) -> bool:
        """Whether it is the begin of an ALTER TABLE in two phases, or its end without success.

        The statement stands in both phases (`binlog_alter_two_phase`); only the second one may change the table.
        """
        return bool(self._extra_flags & (self.START_ALTER | self.ROLLBACK_ALTER))

    @property
    def _extra_flags(self) -> int:
        """They stand behind the members that `gtid_flags` tells of; XA has none."""
        at = self.body + 13
        if self.gtid_flags & (self.PREPARED_XA | self.COMPLETED_XA):
            return 0
        if self.gtid_flags & self.GROUP_COMMIT:
            at += 8
        return self.buffer[at] if at < self.limit else 0


class MariaDbGtidList(LogEvent):
    """The last transaction of each domain in earlier files of MariaDB's log.

    Knowledge base, "GTID_LIST_EVENT": of several servers of one domain the last one stands last.
    """

    __slots__ = ()

    @property
    def gtids(self) -> MariaDbGtidSet:
        """The position."""
        count, made = _U32(self.buffer, self.body)[0] & _LIST_COUNT, MariaDbGtidSet()
        for at in range(self.body + 4, self.body + 4 + count * _LIST_ENTRY.size, _LIST_ENTRY.size):
            made.add(*_LIST_ENTRY.unpack_from(self.buffer, at))
        return made


class Xid(LogEvent):
    """A transaction ends, committed."""

    __slots__ = ()


class XaPrepare(LogEvent):
    """A transaction of the XA protocol ends, prepared; XA COMMIT or XA ROLLBACK follows as a QUERY of its own.

    XA COMMIT … ONE PHASE is one, too, on MySQL: nothing follows.
    """

    __slots__ = ()


class RowsQuery(LogEvent):
    """The statement that the following rows events come from (`binlog_rows_query_log_events`)."""

    __slots__ = ()

    @property
    def sql(self) -> str:
        """The statement's text."""
        return self.buffer[self.body + 1 : self.limit].decode("utf-8", "replace")


class AnnotateRows(LogEvent):
    """The same from MariaDB."""

    __slots__ = ()

    @property
    def sql(self) -> str:
        """The statement's text."""
        return self.buffer[self.body : self.limit].decode("utf-8", "replace")


class Heartbeat(LogEvent):
    """Nothing was written for a heartbeat period; has no place in the log."""

    __slots__ = ()


class Incident(LogEvent):
    """The log has a gap: something was not written to it."""

    __slots__ = ()

    @property
    def message(self) -> str:
        """The server's words."""
        return self.buffer[self.body + 3 : self.limit].decode("utf-8", "replace")


class StatementContext(LogEvent):
    """What a logged statement depends on: a number, a variable, a block of LOAD DATA. Only in the statement format."""

    __slots__ = ()


class Unread(LogEvent):
    """An event that says nothing about rows: checkpoints, group replication's bookkeeping, what may be ignored."""

    __slots__ = ()
