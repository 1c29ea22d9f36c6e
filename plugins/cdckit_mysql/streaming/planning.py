"""Plans ranges of the log: pieces that workers may read at the same time, each with the definitions at its start."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from cdckit import Notices, Offset, RetriableSourceError, Split
from cdckit_mysql.binlog.gtid import GtidSet
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.splits import LogWork
from cdckit_mysql.streaming.event_counts import MakeCounting
from cdckit_mysql.streaming.log_pieces import KeptEvents, LogPiece, joined_pieces
from cdckit_mysql.streaming.named_definitions import LookedAtDefinitions, LookedAtTables
from cdckit_mysql.streaming.opened_log import OpenLog
from cdckit_mysql.streaming.other_tables import OtherTables
from cdckit_mysql.streaming.pace import Pace
from cdckit_mysql.streaming.range_ends import RangeEnds
from cdckit_mysql.streaming.range_scan import RangeScan
from cdckit_mysql.streaming.range_scanner import LogRange, OpenScan, RangeScanner
from cdckit_mysql.streaming.spool import Spool
from cdckit_mysql.streaming.transaction_cuts import CutOptions
from cdckit_mysql.table import Table, Tables

KEPT_BYTES = 1 << 20
"""A range with at most so many bytes of events travels within its splits."""
LEAST_PIECE = 1 << 20
"""A piece of the log that a worker asks the server for has at least so many bytes."""
CERTAIN_BYTES = 1 << 16
"""Heads of files are no events, so that a little less lies between two places than their numbers say."""
MOST_PIECES = 256
"""A range is looked at in so many pieces, which are put together for as many workers as there are."""


class LogPlanner:
    """Plans for one source.

    Args:
        config: the source's options.
        filters: what is captured.
        dialect: whose log it is.
        history: where definitions are found, and noted.
        notices: told of changed definitions.
        run_id: the run's id in the records' headers.
        ends: what is known of the ends of ranges.
        open_log: gives the log.
        spool: where the events of larger ranges are kept for their readers; None: they ask for them again.
        marks: whether readers make table marks, which tell of all captured tables.
        pace: holds back how fast the log is taken; None: nothing does.
        stays: whether the connection of one range is kept for the next.
        farthest: the first place in a file that no reader can be sent to.
        counting: makes what counts the events of a transaction, where readers of its parts are to tell its metadata;
            None: such transactions are not cut.
    """

    def __init__(
        self,
        config: MySqlConfig,
        filters: Filters,
        dialect: Dialect,
        history: SchemaHistory,
        notices: Notices,
        run_id: str,
        ends: RangeEnds,
        open_log: OpenLog,
        *,
        spool: Spool | None = None,
        marks: bool = False,
        pace: Pace | None = None,
        stays: bool = True,
        farthest: int = 1 << 32,
        counting: MakeCounting | None = None,
    ) -> None:
        self._config = config
        self._filters = filters
        self._dialect = dialect
        self._history = history
        self._notices = notices
        self._run_id = run_id
        self._ends = ends
        self._open_log = open_log
        self._spool = spool
        self._marks = marks
        self._pace = pace
        self._farthest = farthest
        self._counting = counting
        self._known: tuple[str, Tables] | None = None
        self._packed: tuple[list[Table], OtherTables] | None = None
        self._range: LogRange | None = None
        self._beyond: tuple[LogOffset, int] | None = None
        self._scanner = RangeScanner(self._open_scan, stays=stays)

    def forget(self) -> None:
        """The history knows more than was last seen of it."""
        self._known = None
        self._let_go()
        self._scanner.close()

    def cut(self, start: LogOffset, end: LogOffset, size: int) -> LogOffset:
        """The first end of a transaction that lies at least `size` bytes behind `start`, or `end`.

        Raises:
            RetriableSourceError: `end` is the place of another server than the one that answers now.
        """
        self._let_go()
        found = self._scanner.cut(start, end, size)
        if found.elsewhere:
            found.events.remove()
            raise RetriableSourceError(
                f"the log's end {end.position} is that of another server than the one that answers now: "
                "it is asked for anew"
            )
        found.note()
        self._beyond = end, size
        # What lies between places of one server is looked at once.
        if found.by_gtid:
            found.events.remove()
        else:
            self._range = found
        return found.end

    def splits(self, start: Offset, end: Offset, size: int, parallelism: int) -> list[Split]:
        """The pieces between two offsets, as splits.

        Args:
            start: where the range begins.
            end: where it ends.
            size: about how many bytes it has.
            parallelism: how many pieces are wanted.
        """
        looked_at = self._looked_at(LogOffset.from_json(start), LogOffset.from_json(end), size)
        pieces = joined_pieces(looked_at.pieces, parallelism, LEAST_PIECE)
        starts = [piece.start.to_json() for piece in pieces]
        ends = [*starts[1:], end][: len(starts)]
        return [
            Split(first, last, self._work(piece, looked_at.events, number))
            for number, (piece, first, last) in enumerate(zip(pieces, starts, ends, strict=True))
        ]

    def look_ahead(self, bytes_between: Callable[[LogOffset, LogOffset], int]) -> None:
        """Begins to look at the range that follows the one planned last, where it is to be cut, too.

        Args:
            bytes_between: says how much of the log lies between two offsets.
        """
        beyond, self._beyond = self._beyond, None
        if beyond is None or self._range is None:
            return
        end, size = beyond
        # Of a range that is not cut the end is not known before it is asked for.
        if bytes_between(self._range.end, end) > size + CERTAIN_BYTES:
            self._scanner.look_ahead(end, size)

    def close(self) -> None:
        """Lets go of the connection, and of the events that are kept."""
        self._let_go()
        self._scanner.close()
        if self._spool is not None:
            self._spool.close()

    def _let_go(self) -> None:
        if self._range is not None:
            self._range.events.remove()
            self._range = None

    def _looked_at(self, start: LogOffset, end: LogOffset, size: int) -> LogRange:
        """The range, looked at now unless that was done to find its end."""
        if self._range is None or not self._range.lies_between(start, end):
            self._let_go()
            self._beyond = None
            self._range = self._look_at(start, end, size)
        else:
            self._note_end(end, self._range.gtids, self._range.begun.epoch)
        # The next range begins where this one ends: its definitions need no reading of the history.
        self._known = (end.position.prefix, self._range.after)
        return self._range

    def _look_at(self, start: LogOffset, end: LogOffset, size: int) -> LogRange:
        until = self._ends.known(end)
        found = self._scanner.whole(start, until, size)
        found.end = end
        found.note()
        if found.elsewhere:
            self.replayed(end, until, found.begun, found.after)
            return found
        if found.begun.epoch > end.epoch:  # another server was read since it was planned: so were the definitions noted
            self._history.start(end.position, found.after)
        self._note_end(end, found.gtids, found.begun.epoch)
        return found

    def _note_end(self, end: LogOffset, gtids: str | None, epoch: int) -> None:
        if gtids is not None:
            epoch = max(end.epoch, epoch)
            self._ends.note(end, end.with_changes(gtids=joined(gtids, end.gtids, self._dialect), epoch=epoch))

    def replayed(self, end: LogOffset, until: LogOffset, start: LogOffset, tables: Tables) -> None:
        """Notes that a range was read at another server than the one where its end was planned.

        Args:
            end: its end, as it was planned.
            until: what was known of that.
            start: its begin, as the server counts that it was read at.
            tables: the definitions in force at its end.
        """
        self._history.start(end.position, tables)
        self._ends.note(end, LogOffset(gtids=until.gtids, epoch=start.epoch, server=start.server, ts_sec=end.ts_sec))

    def _open_scan(self, start: LogOffset, end: LogOffset, size: int) -> OpenScan:
        definitions = LookedAtDefinitions(
            LookedAtTables.of(self._tables_at(start)),
            self._config,
            self._filters,
            self._dialect,
            history=self._history,
            notices=self._notices,
        )
        known = self._ends.known(start)
        connection, begun = self._open_log(known, end)
        with ExitStack() as stack:
            stack.enter_context(connection)
            # A failover begins a new epoch, which has to have its definitions before statements of its log are noted.
            self._history.moved(begun.position, definitions.tables, anew=begun.epoch > known.epoch)
            scan = RangeScan(
                connection,
                definitions,
                begun,
                mariadb=self._dialect.mariadb,
                cuts=self._cuts(size),
                keep=lambda: KeptEvents(KEPT_BYTES, self._spool),
                patience=self._config.connect_keep_alive_interval_ms / 1000,
                pace=self._pace,
            )
            return OpenScan(start, scan, definitions, stack.pop_all())

    def _cuts(self, size: int) -> CutOptions:
        counted = self._config.provide_transaction_metadata
        return CutOptions(
            max(LEAST_PIECE, size // MOST_PIECES),
            transactions=not counted or self._counting is not None,
            farthest=self._farthest,
            texts=self._config.include_query,
            counting=self._counting if counted else None,
        )

    def _tables_at(self, offset: LogOffset) -> Tables:
        if self._known is not None and self._known[0] == offset.position.prefix:
            return self._known[1].copy()
        return self._history.tables_at(offset.position)

    def _work(self, piece: LogPiece, events: KeptEvents, number: int) -> LogWork:
        return LogWork(
            piece.names.of(piece.tables, self._filters.captures),
            self._dialect,
            self._run_id,
            reader=number + 1,
            events=events.within(piece),
            spooled=events.spooled(piece),
            checksums=piece.checksums,
            gtids=piece.gtids,
            part=piece.part,
            begun=piece.begun,
            others=self._others(piece.tables) if self._marks and piece.changes else None,
        )

    def _others(self, tables: Tables) -> OtherTables:
        """All captured tables; pieces that begin with the same definitions have the same bytes."""
        captured = [table for table in tables if self._filters.captures(*table.id)]
        if self._packed is None or self._packed[0] != captured:
            self._packed = captured, OtherTables.of(captured)
        return self._packed[1]


def bytes_between(files: dict[str, int], start: LogOffset, end: LogOffset) -> int:
    """How many bytes of the log lie between two offsets, by the sizes of its files.

    At the most, where they count on different servers; as far as is known, where the files are another's.
    """
    if end.file not in files:
        return max(0, end.pos - start.pos if start.file == end.file else end.pos)
    first = start.file if start.server in (None, end.server) else ""
    names = [name for name in files if first <= name <= end.file]
    return max(0, sum(files[name] for name in names[:-1]) + end.pos - (start.pos if first else 0)) if names else 0


def joined(gtids: str, others: str | None, dialect: Dialect) -> str:
    """All transactions of two offsets at one place; MariaDB tells them exactly."""
    return gtids if dialect.mariadb else str(GtidSet.parse(gtids) | GtidSet.parse(others or ""))
