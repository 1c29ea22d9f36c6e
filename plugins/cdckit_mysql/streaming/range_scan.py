"""A planner's look at a stretch of the log: where it may be cut, which definitions hold, and its bytes while few.

Only headers are read, but for statements and transaction identifiers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.errors import LogEndedError
from cdckit_mysql.binlog.events import Gtid, MariaDbGtid
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.integrity import DAMAGE
from cdckit_mysql.binlog.place import HeaderScan
from cdckit_mysql.binlog.query import Query
from cdckit_mysql.offsets import LogOffset, LogPosition, file_number
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.opened_log import OpenedLog
from cdckit_mysql.streaming.progress import LogProgress
from cdckit_mysql.streaming.transaction_range import TransactionRange
from cdckit_mysql.table import Tables

_STATEMENTS = frozenset({event_types.QUERY, event_types.MARIADB_QUERY_COMPRESSED})
_CODE = 4
"""Where an event's header holds its type."""


@dataclass(slots=True)
class LogPiece:
    """A stretch of the log between two transactions.

    Attributes:
        start: where it begins.
        end: where it ends.
        tables: the definitions in force at its start.
        size: how many bytes it has.
        checksums: whether its events end in checksums.
        changes: whether statements within it change definitions.
        events: the bytes of its events, or None where they are too many to keep.
        gtids: the transactions up to its end, where others may stand between its own; else None.
    """

    start: LogOffset
    end: LogOffset
    tables: Tables
    size: int = 0
    checksums: bool = False
    changes: bool = False
    events: list[bytes] | None = None
    gtids: str | None = None


class RangeScan:
    """Goes over one stretch of the log.

    Args:
        connection: gives the log from `start` on, and ends with it.
        definitions: those in force at `start`; they follow the statements that are met.
        start: where the stretch begins.
        mariadb: whose log it is.
        piece_bytes: how large a piece is to be at least.
        kept_bytes: how many bytes of events are kept at the most, in all pieces together.
        patience: how many seconds the server may be silent within a range that it has.

    Attributes:
        by_gtid: whether the log was asked for by GTID: between its transactions the server's log may hold others, and
            it may end before the place that a range ends at.
        elsewhere: whether that place is another server's.
        start: where the stretch begins.
    """

    def __init__(
        self,
        connection: OpenedLog,
        definitions: Definitions,
        start: LogOffset,
        *,
        mariadb: bool,
        piece_bytes: int,
        kept_bytes: int,
        patience: float,
    ) -> None:
        self._connection = connection
        self._definitions = definitions
        self._progress = LogProgress(start, mariadb=mariadb)
        self._scan = HeaderScan(start.pos)
        self._piece_bytes = piece_bytes
        self._keeps = kept_bytes
        self._patience = patience
        self._identified = False
        self.start = start
        self.elsewhere = isinstance(connection, TransactionRange)
        self.by_gtid = start.by_gtid or self.elsewhere
        # By GTID the place of the first transaction is known when it comes; the piece's start gets it then.
        self._placed = not start.by_gtid
        self._pieces = [self._piece(start)]

    def pieces(self, end: LogOffset) -> list[LogPiece]:
        """The pieces up to `end`.

        Raises:
            RetriableSourceError: the connection was lost, or the log ended before.
            DecodeError: a statement cannot be read.
        """
        for _ in self._until(end):
            pass
        self._progress.commit(self._progress.offset().pos)
        self._pieces[-1].end = end.with_changes(gtids=self.gtids)
        found = [piece for piece in self._pieces if piece.size]
        if self.by_gtid:
            found = [piece for piece in found if piece.start.file]  # else there is no transaction
            for piece in found:
                piece.start = piece.start.with_changes(by_gtid_until="")  # the files are known now
                piece.gtids = piece.end.gtids
        return found

    @property
    def gtids(self) -> str | None:
        """The transactions up to the end of what was gone over; None without GTIDs."""
        return self._progress.offset().gtids

    def first(self, end: LogOffset) -> LogOffset:
        """Where the first piece ends, or `end` where that comes first."""
        for _ in self._until(end):
            if len(self._pieces) > 1:
                return self._pieces[0].end
        return end

    def _until(self, end: LogOffset) -> Iterator[None]:
        """Goes on span by span."""
        while spans := self._arrived():
            for span in spans:
                if self._takes(span, end) and not self.elsewhere:
                    return
                yield

    def _takes(self, span: Span, end: LogOffset) -> bool:
        """As `_take`; what a damaged event raises is told with its place."""
        try:
            return self._take(span, end)
        except DAMAGE as error:
            raise self._connection.parser.misread(span, error) from error

    def _arrived(self) -> Sequence[Span]:
        """What comes next; nothing where a range by GTID has ended."""
        spans = self._connection.packets(self._patience)
        if not spans and not (self.by_gtid and self._connection.ended):
            raise LogEndedError(f"the log ended unexpectedly behind {self._progress.offset().position}")
        return spans

    def _take(self, span: Span, end: LogOffset) -> bool:
        """Takes an event; true when it is the last one before `end`, or, not taken, the first one behind it."""
        buffer, at, limit = span
        code, start, behind, begins = self._scan.scan(buffer, at)
        told = False
        if begins:
            # Another server's place says nothing here: there the range ends with its transactions.
            if not self.elsewhere and (file_number(self._progress.file), start) >= (file_number(end.file), end.pos):
                return True
            self._transaction_begins(span, start)
        elif code == event_types.ROTATE:
            told = self._rotate(span, behind > start)
        elif code == event_types.FORMAT_DESCRIPTION:
            self._connection.parser.event(buffer, at, limit)
        elif code in _STATEMENTS:
            self._statement(span, behind)
        if behind > start or told:
            self._keep(buffer[at:limit])
        # Before MySQL 5.7 transactions have no identifier unless GTIDs are on: one can be cut from the next behind its
        # XID alone.
        if code == event_types.XID and not self._identified:
            self._progress.commit(behind)
            self._cut()
        if code == event_types.ROTATE:
            behind = self._connection.parser.position
        return (file_number(self._progress.file), behind) >= (file_number(end.file), end.pos)

    def _transaction_begins(self, span: Span, start: int) -> None:
        self._identified = True
        self._progress.commit(start)
        if self._placed:
            self._cut()
        else:
            self._placed = True
            self._pieces[0].start = self._pieces[0].start.with_changes(file=self._progress.file, pos=start)
        event = self._connection.parser.event(*span)
        if isinstance(event, MariaDbGtid):
            self._progress.mariadb_gtid(event)
        elif isinstance(event, Gtid):
            self._progress.mysql_gtid(event)

    def _rotate(self, span: Span, real: bool) -> bool:
        """Goes over to another file; true where no event of the log says so: a server that stops just ends it."""
        self._connection.parser.event(*span)
        parser = self._connection.parser
        if real:
            self._progress.commit(0)
            self._progress.rotate(parser.file, parser.position)
            return False
        before = self._progress.file
        self._progress.reads(parser.file)
        return bool(before) and before != parser.file

    def _statement(self, span: Span, behind: int) -> None:
        event = self._connection.parser.event(*span)
        if isinstance(event, Query) and not event.is_begin:
            position = LogPosition(self._progress.epoch, self._progress.file, behind)
            if not self._progress.alters_nothing and self._definitions.apply(
                event, position, lambda: self._progress.offset().with_changes(file=position.file, pos=behind)
            ):
                self._pieces[-1].changes = True

    def _keep(self, event: bytes) -> None:
        piece = self._pieces[-1]
        piece.size += len(event)
        self._keeps -= len(event)
        # A range's events are kept for all of its pieces, or for none.
        if self._keeps < 0:
            for each in self._pieces:
                each.events = None
        elif piece.events is not None:
            piece.events.append(event)

    def _cut(self) -> None:
        """Between two transactions: a piece that is large enough ends."""
        piece = self._pieces[-1]
        if piece.size >= self._piece_bytes:
            piece.end = self._progress.offset()
            self._pieces.append(self._piece(piece.end))

    def _piece(self, start: LogOffset) -> LogPiece:
        return LogPiece(
            start,
            start,
            self._definitions.tables.copy(),
            checksums=self._connection.parser.checksums,
            events=[] if self._keeps >= 0 else None,
        )


def events_of(piece: LogPiece) -> Iterator[Span]:
    """The spans of a piece's kept events."""
    for event in piece.events or ():
        yield event, 0, len(event)
