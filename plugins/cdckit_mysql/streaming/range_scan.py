"""A planner's look at a stretch of the log: where it may be cut, which definitions hold, and its bytes while few.

Only headers are read, but for statements, transaction identifiers and the names of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from cdckit import RetriableSourceError
from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.compression import payload_events
from cdckit_mysql.binlog.errors import LogEndedError
from cdckit_mysql.binlog.events import Gtid, MariaDbGtid
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.integrity import CHECKSUM_SIZE, DAMAGE
from cdckit_mysql.binlog.place import HEADER_SIZE, HeaderScan
from cdckit_mysql.binlog.query import Query
from cdckit_mysql.binlog.rows_event import ROWS_EVENT_TYPES
from cdckit_mysql.offsets import LogOffset, LogPosition, file_number
from cdckit_mysql.streaming.event_counts import EventCounts, MakeCounting
from cdckit_mysql.streaming.log_pieces import KeptEvents, LogPiece
from cdckit_mysql.streaming.named_definitions import LookedAtDefinitions
from cdckit_mysql.streaming.opened_log import OpenedLog
from cdckit_mysql.streaming.pace import Pace
from cdckit_mysql.streaming.progress import LogProgress
from cdckit_mysql.streaming.transaction_cuts import CutOptions, TransactionCuts
from cdckit_mysql.streaming.transaction_range import TransactionRange

_STATEMENTS = frozenset({event_types.QUERY, event_types.MARIADB_QUERY_COMPRESSED})
_TEXTS = frozenset({event_types.ROWS_QUERY, event_types.MARIADB_ANNOTATE_ROWS})
_LOOKED_AT = (
    _STATEMENTS
    | _TEXTS
    | ROWS_EVENT_TYPES
    | {
        event_types.TABLE_MAP,
        event_types.FORMAT_DESCRIPTION,
        event_types.TRANSACTION_PAYLOAD,
    }
)
_CODE = 4
"""Where an event's header holds its type."""
WHOLE = 1 << 62
"""More bytes than a log has: nothing is cut."""
FEW_TABLES = 50
"""The definitions of so many tables are no burden: a compressed transaction is not opened to see which it names."""


class RangeScan:
    """Goes over one stretch of the log.

    Args:
        connection: gives the log from `start` on, and ends with it.
        definitions: those in force at `start`; they follow the statements that are met.
        start: where the stretch begins.
        mariadb: whose log it is.
        cuts: how it may be cut.
        keep: makes what takes the events of a range.
        patience: how many seconds the server may be silent within a range that it has.
        pace: holds it back; None: nothing does.

    Attributes:
        by_gtid: whether the log was asked for by GTID: between its transactions the server's log may hold others, and
            it may end before the place that a range ends at.
        abandoned: whether it is to give up, for one that goes on in a thread of its own.
        elsewhere: whether that place is another server's.
        start: where the stretch begins.
    """

    def __init__(
        self,
        connection: OpenedLog,
        definitions: LookedAtDefinitions,
        start: LogOffset,
        *,
        mariadb: bool,
        cuts: CutOptions,
        keep: Callable[[], KeptEvents],
        patience: float,
        pace: Pace | None = None,
    ) -> None:
        self._connection = connection
        self._definitions = definitions
        self._progress = LogProgress(start, mariadb=mariadb)
        self._scan = HeaderScan(start.pos)
        self._piece_bytes = cuts.piece_bytes
        self._mariadb = mariadb
        self._behind = start.pos
        self._keep_events = keep
        self._kept = keep()
        self._patience = patience
        self._pace = pace
        self._identified = False
        self._looks_inside = len(definitions.tables) > FEW_TABLES
        self._size = self._events = 0
        self._end, self._most = start, 0
        self._cut_off: tuple[list[LogPiece], KeptEvents] | None = None
        self.start = start
        self.abandoned = False
        self.elsewhere = isinstance(connection, TransactionRange)
        self.by_gtid = start.by_gtid or self.elsewhere
        # Where other transactions stand between those of the range, places alone do not tell a part.
        cuts = replace(cuts, transactions=cuts.transactions and not self.by_gtid)
        self._cuts = TransactionCuts(cuts, connection, mariadb=mariadb)
        # By GTID the place of the first transaction is known when it comes; the piece's start gets it then.
        self._placed = not start.by_gtid
        self._pieces = [self._piece(start)]
        self._steps = self._go_on()

    def next(self, end: LogOffset, most: int) -> tuple[list[LogPiece], KeptEvents, bool]:
        """The pieces up to `end`, or up to the first end of a transaction behind `most` bytes.

        Returns:
            The pieces, their events, and whether the log goes on behind them, for the next call.

        Raises:
            RetriableSourceError: the connection was lost, or the log ended before.
            DecodeError: a statement cannot be read.
        """
        self._end, self._most = end, most
        for _ in self._steps:
            if self._cut_off is not None:
                (pieces, kept), self._cut_off = self._cut_off, None
                kept.finish()
                return pieces, kept, True
        kept, self._kept = self._kept, self._keep_events()
        kept.finish()
        return self._last(end), kept, False

    def let_go(self) -> None:
        """Lets go of the events that were kept since the last range."""
        self._kept.remove()

    def _last(self, end: LogOffset) -> list[LogPiece]:
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

    def _go_on(self) -> Iterator[None]:
        """Goes on span by span; between two of them it may be left alone."""
        while spans := self._arrived():
            for span in spans:
                if self._takes(span, self._end) and not self.elsewhere:
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
        if self.abandoned:
            raise RetriableSourceError("what lies ahead in the log is not wanted any more")
        spans = self._connection.packets(self._patience)
        if self._pace is not None:
            self._pace.took(sum(end - at for _, at, end in spans), lambda: not self.abandoned)
        if not spans and not (self.by_gtid and self._connection.ended):
            raise LogEndedError(f"the log ended unexpectedly behind {self._progress.offset().position}")
        return spans

    def _take(self, span: Span, end: LogOffset) -> bool:
        """Takes an event; true when it is the last one before `end`, or, not taken, the first one behind it."""
        code, start, behind, begins = self._scan.scan(span[0], span[1])
        told = False
        if begins:
            # Another server's place says nothing here: there the range ends with its transactions.
            if not self.elsewhere and (file_number(self._progress.file), start) >= (file_number(end.file), end.pos):
                return True
            self._transaction_begins(span, start)
        elif code == event_types.ROTATE:
            told = self._rotate(span, behind > start)
        elif code in _LOOKED_AT:
            self._look_at(code, span, start, behind)
        if self._mariadb and start > self._behind and not begins:
            self._left_out()
        self._behind = behind
        if behind > start or told:
            self._keep(span)
        # Before MySQL 5.7 transactions have no identifier unless GTIDs are on: one can be cut from the next behind its
        # XID alone.
        if code == event_types.XID and not self._identified:
            self._cuts.ends()
            self._progress.commit(behind)
            self._cut()
        if code == event_types.ROTATE:
            behind = self._connection.parser.position
        return (file_number(self._progress.file), behind) >= (file_number(end.file), end.pos)

    def _look_at(self, code: int, span: Span, start: int, behind: int) -> None:
        """An event that says more than that it is there."""
        if code == event_types.TABLE_MAP:
            self._pieces[-1].names.announce(span[0], span[1])
            self._cuts.announces(span)
        elif code in ROWS_EVENT_TYPES:
            self._rows(span, start)
        elif code in _STATEMENTS:
            self._statement(span, start, behind)
        elif code in _TEXTS:
            self._cuts.says(span)
        elif code == event_types.FORMAT_DESCRIPTION:
            self._connection.parser.event(*span)
        else:
            self._compressed(span)

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
        if isinstance(event, Gtid | MariaDbGtid):
            self._cuts.begins(span, start, self._size, event, self._counting)

    def _counting(self, make: MakeCounting) -> EventCounts:
        checksums = self._connection.parser.checksums
        return EventCounts(make, self._progress.offset(), self._definitions.tables, checksums=checksums)

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

    def _rows(self, span: Span, start: int) -> None:
        """Rows, before which a transaction that is large may be cut."""
        if self._cuts.due(self._pieces[-1], start, self._size):
            at = self._progress.offset().with_changes(file=self._progress.file, pos=start)
            self._pieces[-1].end, self._pieces[-1].within = at, True
            self._pieces.append(self._piece(at))
            self._cuts.begin(self._pieces[-1], checksums=self._connection.parser.checksums)
        self._cuts.rows(span)

    def _left_out(self) -> None:
        """Events before this one were left out, which whoever has a part of the transaction would not know."""
        self._cuts.stays_whole()
        self._pieces[-1].gaps = True
        while self._pieces[-1].begun is not None:
            last = self._pieces.pop()
            self._pieces[-1].add(last)

    def _statement(self, span: Span, start: int, behind: int) -> None:
        event = self._connection.parser.event(*span)
        if not isinstance(event, Query):
            return
        self._cuts.statement(event, span, start, self._size)
        if not event.is_begin:
            position = LogPosition(self._progress.epoch, self._progress.file, behind)
            self._definitions.names = self._pieces[-1].names
            if not self._progress.alters_nothing and self._definitions.apply(
                event, position, lambda: self._progress.offset().with_changes(file=position.file, pos=behind)
            ):
                self._pieces[-1].changes = True

    def _compressed(self, span: Span) -> None:
        """A compressed transaction names its tables within."""
        # It is one event, whose parts nobody could find without what lies before them.
        self._cuts.stays_whole()
        names, (buffer, at, limit) = self._pieces[-1].names, span
        if not self._looks_inside:
            names.everything = True
            return
        end = limit - CHECKSUM_SIZE * self._connection.parser.checksums
        for inner, first, _ in payload_events(buffer, at + HEADER_SIZE, end):
            if inner[first + _CODE] == event_types.TABLE_MAP:
                names.announce(inner, first)

    def _keep(self, span: Span) -> None:
        size, piece = span[2] - span[1], self._pieces[-1]
        if not piece.events:  # the server says what its events end in by now, and the log's file what these do
            piece.checksums = self._connection.parser.checksums
        piece.take(size)
        self._size += size
        self._events += 1
        self._kept.take(span)
        self._cuts.took(span)

    def _cut(self) -> None:
        """Between two transactions: a piece that is large enough ends, and a range."""
        piece = self._pieces[-1]
        full = self._size >= self._most
        if piece.size and (full or piece.size >= self._piece_bytes):
            piece.end = self._progress.offset()
            if full:
                self._cut_off = self._pieces, self._kept
                self._pieces, self._kept = [], self._keep_events()
                self._size = self._events = 0
            self._pieces.append(self._piece(piece.end))

    def _piece(self, start: LogOffset) -> LogPiece:
        return LogPiece(start, start, self._definitions.tables.copy(), at=self._size, event=self._events)
