"""MariaDB's log by whole transactions, without the rows that were rolled back in them.

What is rolled back does not reach MySQL's log. MariaDB's has it, where the transaction has also written to a table that
knows no transactions, or has made or dropped a temporary one. What undoes it stands behind it: ROLLBACK TO a savepoint,
or ROLLBACK in the place of the commit. Nothing at a transaction's begin tells which end it has.
"""

from __future__ import annotations

import re
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import IO

from cdckit import SourceError
from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.events import MariaDbGtid
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.integrity import DAMAGE
from cdckit_mysql.binlog.place import HEADER, HEADER_SIZE
from cdckit_mysql.binlog.query import CompressedQuery, Query
from cdckit_mysql.binlog.rows_event import ROWS_EVENT_TYPES
from cdckit_mysql.streaming.opened_log import LogOver, OpenedLog

IN_MEMORY = 1 << 22
"""A transaction that has not ended after so many bytes goes on in a temporary file."""
_PART = 1 << 20
"""So many bytes of that file are read at a time, if they are not more events than these."""
_MOST_EVENTS = 10_000

_CODE = 4
"""Where an event's header holds its type."""
_FLAGS = 12
"""Where the body of MariaDB's GTID event holds its flags."""
_STATEMENTS = (event_types.QUERY, event_types.MARIADB_QUERY_COMPRESSED)
_GTID = bytes([event_types.MARIADB_GTID])
_WITHIN = ROWS_EVENT_TYPES | {
    event_types.TABLE_MAP,
    event_types.MARIADB_ANNOTATE_ROWS,
    event_types.INTVAR,
    event_types.RAND,
    event_types.USER_VAR,
    event_types.BEGIN_LOAD_QUERY,
    event_types.EXECUTE_LOAD_QUERY,
}
"""Events, besides statements, behind which a transaction goes on."""
_END = re.compile(rb"COMMIT|ROLLBACK(?! TO `)|XA (?:COMMIT|ROLLBACK)")
_SAVEPOINT = re.compile(rb"SAVEPOINT `((?:[^`]|``)*)`")
_ROLLBACK = re.compile(rb"ROLLBACK(?: TO `((?:[^`]|``)*)`)?")
"""As the server itself writes them."""


class CommittedLog(LogOver):
    """A log of MariaDB's that gives transactions when they are whole, without what was rolled back.

    Args:
        log: gives the events as they stand in the log; closed with this one.

    Attributes:
        ended: whether the log's end was reached.
    """

    def __init__(self, log: OpenedLog) -> None:
        super().__init__(log)
        self.ended = False
        self._whole, self._held = HeldEvents(), HeldEvents()
        self._ready = self._whole.committed()

    @property
    def given_bytes(self) -> int:
        """About how many bytes the transactions have of which the last events given were part."""
        return self._whole.size

    def packets(self, timeout: float) -> Sequence[Span]:
        """The bytes of whole transactions that have arrived; waits up to `timeout` seconds for more of one.

        Raises:
            SourceError: the log cannot be read, or there is no room for a large transaction.
            DecodeError: a statement or the begin of a transaction cannot be understood.
        """
        while True:
            for ready in self._ready:
                if ready:
                    return ready
            spans: Sequence[Span] = () if self._log.ended else self._log.packets(timeout)
            if not spans:
                self.ended = self._log.ended
                return []
            self._take(spans)

    def _take(self, spans: Sequence[Span]) -> None:
        try:
            self._hold(spans)
        except _UnreadableError as error:
            raise self.parser.misread(error.span, error.reason) from error.reason

    def _hold(self, spans: Sequence[Span]) -> None:
        behind = _behind_last_end(spans, alone=self._held.alone)
        self._held.add(spans[:behind])
        if behind:
            self._whole, self._held = self._held, HeldEvents()
            self._ready = self._whole.committed()
        self._held.add(spans[behind:])
        self._held.make_room()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._whole.close()
        self._held.close()
        super().__exit__(kind, error, trace)


def _behind_last_end(spans: Sequence[Span], *, alone: bool) -> int:
    """How many of the events are not part of a transaction that goes on behind them.

    Args:
        spans: the events.
        alone: whether what was begun before them is a statement that stands alone.
    """
    statement = False
    # From behind, as only the last end matters: what lies before it is whole, however many transactions a read brought,
    # and one or two looks do for most reads.
    for number in range(len(spans) - 1, -1, -1):
        buffer, at, _ = spans[number]
        code = buffer[at + _CODE]
        if code in _STATEMENTS:
            if _END.match(_text(spans[number])):
                return number + 1
            statement = True
        elif code == event_types.MARIADB_GTID:
            # A transaction's begin is the end of all before it. A statement that stands alone has no other end than
            # itself.
            return len(spans) if statement and _stands_alone(spans[number]) else number
        elif code not in _WITHIN:
            return number + 1
    return len(spans) if statement and alone else 0


class _UnreadableError(Exception):
    """An event that cannot be understood."""

    def __init__(self, span: Span, reason: Exception) -> None:
        super().__init__(str(reason))
        self.span = span
        self.reason = reason


def _stands_alone(gtid: Span) -> bool:
    buffer, at, end = gtid
    if at + HEADER_SIZE + _FLAGS >= end:
        raise _UnreadableError(gtid, IndexError("its flags are missing"))
    return bool(buffer[at + HEADER_SIZE + _FLAGS] & MariaDbGtid.STANDALONE)


def _text(statement: Span) -> bytes:
    """The statement; a checksum behind it is not told from it, which those that matter here allow."""
    buffer, at, end = statement
    header = HEADER.unpack_from(buffer, at)
    kind = Query if header[1] == event_types.QUERY else CompressedQuery
    try:
        return kind(header, 0, 0, buffer, at + HEADER_SIZE, end).statement
    except DAMAGE as error:
        raise _UnreadableError(statement, error) from error


class HeldEvents:
    """Events of the log, from the begin of a transaction on; many of them in a file."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._size = self._measured = 0
        self._codes = bytearray()
        self._file: IO[bytes] | None = None
        self._lengths = array("Q")
        self._points: dict[str, int] = {}
        self._undone: list[range] = []

    @property
    def size(self) -> int:
        """How many bytes they have."""
        # Each event is measured once, however often this is asked.
        self._size += sum(end - at for _, at, end in self._spans[self._measured :])
        self._measured = len(self._spans)
        return self._size

    @property
    def alone(self) -> bool:
        """Whether what they begin with is a statement that stands alone."""
        return self._codes.startswith(_GTID) and bool(self._spans) and _stands_alone(self._spans[0])

    def add(self, spans: Sequence[Span]) -> None:
        """Takes the events that follow."""
        first = len(self._codes)
        self._codes += bytes([buffer[at + _CODE] for buffer, at, _ in spans])
        self._spans += spans
        # Rows events, which are most of a large transaction, cost the byte of their type here and no more.
        for code in _STATEMENTS:
            number = self._codes.find(code, first)
            while number >= 0:
                self._look_at(spans[number - first], number)
                number = self._codes.find(code, number + 1)

    def make_room(self) -> None:
        """Puts them into a file where they are many.

        Raises:
            SourceError: there is no room for them.
        """
        if self.size > IN_MEMORY:
            self._write()

    def committed(self) -> Iterator[list[Span]]:
        """The events without those that were rolled back, a part at a time."""
        if self._file is not None:
            self._write()
            yield from self._read(self._file)
        elif self._undone:
            dropped = self._dropped()
            yield [span for span, drop in zip(self._spans, dropped, strict=True) if not drop]
        else:
            yield self._spans

    def close(self) -> None:
        """Lets go of the file."""
        if self._file is not None:
            self._file.close()

    def _look_at(self, statement: Span, number: int) -> None:
        text = _text(statement)
        if point := _SAVEPOINT.match(text):
            self._points[_name(point[1])] = number
        elif back := _ROLLBACK.match(text):
            # Several whole transactions are held together, and each may use the same savepoint's name: one that was set
            # before this transaction's begin is another's. The savepoint itself stays, and may be gone back to again.
            begin = self._codes.rfind(_GTID, 0, number)
            since = begin if back[1] is None else self._points.get(_name(back[1]), -1)
            if since >= max(begin, 0):
                self._undone.append(range(since + 1, number))

    def _dropped(self) -> bytearray:
        """A 1 for each event that was rolled back."""
        dropped = bytearray(len(self._codes))
        for numbers in self._undone:
            dropped[numbers.start : numbers.stop] = b"\1" * len(numbers)
        return dropped

    def _write(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="cdckit-")  # noqa: SIM115 - it is kept
            for buffer, at, end in self._spans:
                self._lengths.append(end - at)
                self._file.write(memoryview(buffer)[at:end])
        except OSError as error:
            raise SourceError(
                f"a transaction of more than {self._size / 1e6:,.0f} MB cannot be kept in {tempfile.gettempdir()} "
                f"until it ends: {error}; name a folder with more room in TMPDIR",
                number="CDC3503",
            ) from error
        self._spans, self._measured = [], 0

    def _read(self, file: IO[bytes]) -> Iterator[list[Span]]:
        dropped, number = self._dropped(), 0
        file.seek(0)
        while number < len(self._lengths):
            # Parts are cut between events, so spans need no copy of their own.
            part, at, spans = file.read(self._part(number)), 0, []
            while at < len(part):
                behind = at + self._lengths[number]
                if not dropped[number]:
                    spans.append((part, at, behind))
                at, number = behind, number + 1
            yield spans
        file.close()

    def _part(self, number: int) -> int:
        """How many bytes the next events have together, from one on."""
        size = 0
        for length in self._lengths[number : number + _MOST_EVENTS]:
            size += length
            if size >= _PART:
                break
        return size


def _name(quoted: bytes) -> str:
    """A savepoint's name, whatever its case."""
    return quoted.decode("utf-8", "replace").casefold()
