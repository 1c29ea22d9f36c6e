"""QUERY events: statements in the log, with what the session that ran them had set.

MySQL source documentation, "class Query_event"; MariaDB knowledge base, "QUERY_EVENT" and "QUERY_COMPRESSED_EVENT".
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from typing import ClassVar

from cdckit import DecodeError
from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.compression import inflate
from cdckit_mysql.binlog.events import LogEvent, MariaDbGtid
from cdckit_mysql.ddl import first_word
from cdckit_mysql.ddl.statement_text import skip_prefix, word_at
from cdckit_mysql.values.charset import charset_of_collation, text_decoder

_FIXED = Struct("<IIBHH")
"""thread id, execution time, length of the database's name, error code, length of the status variables."""
_U64 = Struct("<Q").unpack_from
_CHARSETS = Struct("<HHH").unpack_from

_INDEXES = frozenset({b"INDEX", b"UNIQUE", b"FULLTEXT", b"SPATIAL"})


@dataclass(frozen=True, slots=True)
class SessionVariables:
    """What a session had set when it ran a statement; None where the event does not say.

    Attributes:
        options: the bits of Q_FLAGS2_CODE.
        sql_mode: the bits of `sql_mode`.
        client_charset: `character_set_client`, in which the statement is written.
        server_collation: the number of `collation_server`.
        database_collation: the number of `collation_database`.
        explicit_timestamps: `explicit_defaults_for_timestamp`; only MySQL from 8.0 on has it here.
        default_utf8mb4_collation: the number of `default_collation_for_utf8mb4`.
        time_zone: `time_zone`.
        microseconds: of the time when the statement began.
    """

    options: int | None = None
    sql_mode: int | None = None
    client_charset: str | None = None
    server_collation: int | None = None
    database_collation: int | None = None
    explicit_timestamps: bool | None = None
    default_utf8mb4_collation: int | None = None
    time_zone: str | None = None
    microseconds: int | None = None


class Query(LogEvent):
    """A statement: BEGIN, COMMIT, DDL, or (in the statement format) a change of rows."""

    __slots__ = ("_keyword",)

    _keyword: str
    _extra: ClassVar[int] = 0
    """How many bytes stand between the fixed part and the status variables."""

    @property
    def thread_id(self) -> int:
        """The connection that ran it."""
        return int(_FIXED.unpack_from(self.buffer, self.body)[0])

    @property
    def database(self) -> str:
        """The session's current database, or the empty string."""
        _, _, size, _, status = _FIXED.unpack_from(self.buffer, self.body)
        at = self.body + _FIXED.size + self._extra + status
        return self.buffer[at : at + size].decode("utf-8", "replace")

    @property
    def statement(self) -> bytes:
        """The statement's bytes, in `session.client_charset`."""
        return self.buffer[self._statement_start() : self.limit]

    @property
    def sql(self) -> str:
        """The statement's text."""
        statement, charset = self.statement, self.session.client_charset
        if charset == "binary":  # the server itself reads names and comments of such a session as UTF-8
            with suppress(UnicodeDecodeError):
                return statement.decode()
        return text_decoder(charset)(statement)

    @property
    def session(self) -> SessionVariables:
        """What the session had set."""
        status: int = _FIXED.unpack_from(self.buffer, self.body)[4]
        start = self.body + _FIXED.size + self._extra
        return _session_variables(self.buffer, start, start + status)

    @property
    def is_begin(self) -> bool:
        """Whether it is BEGIN as the server itself writes it."""
        # Every transaction of MySQL's has one, so the bytes are compared and nothing is read. The zero ends the
        # database's name; a user's own statement that ends so is longer.
        return self.buffer.endswith(b"\0BEGIN", 0, self.limit) and self.limit - self._statement_start() == 5

    @property
    def starts_xa(self) -> bool:
        """Whether it begins an XA transaction, as the server itself writes it."""
        return self.statement.startswith(b"XA START ")

    @property
    def keyword(self) -> str:
        """The first word in upper case, comments skipped: `ALTER`, `XA`, `COMMIT`; empty where there is none."""
        if not hasattr(self, "_keyword"):
            self._keyword = first_word(self.statement).decode()
        return self._keyword

    @property
    def alters_temporary(self) -> bool:
        """Whether it alters or empties a temporary table, whatever stands under its name besides.

        The row format does not log that; the statement format does, as a statement that hangs on its session.
        """
        if not self.header[5] & event_types.LOG_EVENT_THREAD_SPECIFIC_F:
            return False
        statement = self.statement
        at = skip_prefix(statement)
        word = word_at(statement, at)
        if word in (b"CREATE", b"DROP"):
            return word_at(statement, skip_prefix(statement, at + len(word))) in _INDEXES
        return word in (b"ALTER", b"TRUNCATE")

    def _statement_start(self) -> int:
        _, _, size, _, status = _FIXED.unpack_from(self.buffer, self.body)
        return int(self.body + _FIXED.size + self._extra + status + size + 1)


class CompressedQuery(Query):
    """A statement that MariaDB compressed (`log_bin_compress`)."""

    __slots__ = ()

    @property
    def statement(self) -> bytes:
        """The statement's bytes, in `session.client_charset`."""
        return inflate(self.buffer, self._statement_start(), self.limit)

    @property
    def is_begin(self) -> bool:
        """Whether it is BEGIN: no, that is too short to be compressed."""
        return False


class LoadQuery(Query):
    """LOAD DATA in the statement format; what it loaded stands in events before."""

    __slots__ = ()

    _extra = 13


def _text1(data: bytes, at: int) -> int:
    return 1 + data[at]


def _catalog(data: bytes, at: int) -> int:
    return 2 + data[at]


def _invoker(data: bytes, at: int) -> int:
    user = data[at]
    return 2 + user + data[at + 1 + user]


def _updated_databases(data: bytes, at: int) -> int:
    count, end = data[at], at + 1
    if count == 254:
        return 1
    for _ in range(count):
        end = data.index(b"\0", end) + 1
    return end - at


def _extra_gtid_flags(data: bytes, at: int) -> int:
    """Behind the flags that end an ALTER TABLE in two phases stands the number of its begin."""
    return 9 if data[at] & (MariaDbGtid.COMMIT_ALTER | MariaDbGtid.ROLLBACK_ALTER) else 1


def _charset_collations(data: bytes, at: int) -> int:
    return 1 + 4 * data[at]


_SIZES: dict[int, int | Callable[[bytes, int], int]] = {
    0: 4, 1: 8, 2: _catalog, 3: 4, 4: 6, 5: _text1, 6: _text1, 7: 2, 8: 2, 9: 8, 10: 4, 11: _invoker,
    12: _updated_databases, 13: 3, 16: 1, 17: 8, 18: 2, 19: 1, 20: 1, 128: 3, 129: 8, 130: _extra_gtid_flags,
    131: _charset_collations,
}  # fmt: skip
"""How long each status variable is: MySQL's from 0 on, MariaDB's from 128."""


def _session_variables(data: bytes, at: int, end: int) -> SessionVariables:
    found: dict[str, int | str] = {}
    while at < end:
        code, at = data[at], at + 1
        size = _SIZES.get(code)
        if size is None:
            # Its length is not known, so nothing behind it can be read. New variables are added at the end.
            break
        length = size if isinstance(size, int) else size(data, at)
        _read_variable(found, code, data, at)
        at += length
    if at > end:
        raise DecodeError("a QUERY event's status variables run past their end")
    return SessionVariables(**found)  # type: ignore[arg-type]


def _read_variable(found: dict[str, int | str], code: int, data: bytes, at: int) -> None:
    if code == 0:
        found["options"] = int.from_bytes(data[at : at + 4], "little")
    elif code == 16:
        found["explicit_timestamps"] = data[at] != 0
    elif code == 1:
        found["sql_mode"] = _U64(data, at)[0]
    elif code == 4:
        client, _, found["server_collation"] = _CHARSETS(data, at)
        found["client_charset"] = charset_of_collation(client)
    elif code == 5:
        found["time_zone"] = data[at + 1 : at + 1 + data[at]].decode()
    elif code in {8, 18}:
        name = "database_collation" if code == 8 else "default_utf8mb4_collation"
        found[name] = int.from_bytes(data[at : at + 2], "little")
    elif code in {13, 128}:
        found["microseconds"] = int.from_bytes(data[at : at + 3], "little")
