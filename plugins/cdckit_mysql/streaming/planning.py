"""Plans ranges of the log: pieces that workers may read at the same time, each with the definitions at its start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cdckit import Notices, Offset, RetriableSourceError, Split
from cdckit_mysql.binlog.gtid import GtidSet
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.splits import LogWork
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.opened_log import OpenLog
from cdckit_mysql.streaming.range_ends import RangeEnds
from cdckit_mysql.streaming.range_scan import LogPiece, RangeScan
from cdckit_mysql.table import Tables

KEPT_BYTES = 1 << 20
"""A range with at most so many bytes of events travels within its split."""
LEAST_PIECE = 1 << 20
"""A piece of the log that a worker asks the server for has at least so many bytes."""


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
    ) -> None:
        self._config = config
        self._filters = filters
        self._dialect = dialect
        self._history = history
        self._notices = notices
        self._run_id = run_id
        self._ends = ends
        self._open_log = open_log
        self._known: tuple[str, Tables] | None = None

    def forget(self) -> None:
        """The history knows more than was last seen of it."""
        self._known = None

    def cut(self, start: LogOffset, end: LogOffset, size: int) -> LogOffset:
        """The first end of a transaction that lies at least `size` bytes behind `start`, or `end`.

        Raises:
            RetriableSourceError: `end` is the place of another server than the one that answers now.
        """
        with self._scanning(start, end, piece_bytes=size, kept_bytes=0) as (scan, _):
            if scan.elsewhere:
                raise RetriableSourceError(
                    f"the log's end {end.position} is that of another server than the one that answers now: "
                    "it is asked for anew"
                )
            return scan.first(end)

    def splits(self, start: Offset, end: Offset, size: int, parallelism: int) -> list[Split]:
        """The pieces between two offsets, as splits.

        Args:
            start: where the range begins.
            end: where it ends.
            size: about how many bytes it has.
            parallelism: how many pieces are wanted.
        """
        pieces = self._pieces(LogOffset.from_json(start), LogOffset.from_json(end), size // max(1, parallelism))
        starts = [piece.start.to_json() for piece in pieces]
        ends = [*starts[1:], end][: len(starts)]
        return [
            Split(first, last, self._work(piece, number))
            for number, (piece, first, last) in enumerate(zip(pieces, starts, ends, strict=True))
        ]

    def _pieces(self, start: LogOffset, end: LogOffset, size: int) -> list[LogPiece]:
        until = self._ends.known(end)
        piece_bytes = max(LEAST_PIECE, size)
        with self._scanning(start, until, piece_bytes=piece_bytes, kept_bytes=KEPT_BYTES) as (scan, definitions):
            pieces = scan.pieces(until)
            if scan.elsewhere:
                self.replayed(end, until, scan.start, definitions.tables)
            elif scan.gtids is not None:
                self._ends.note(end, end.with_changes(gtids=joined(scan.gtids, end.gtids, self._dialect)))
            # The next range begins where this one ends: its definitions need no reading of the history.
            self._known = (end.position.prefix, definitions.tables.copy())
            return pieces

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

    @contextmanager
    def _scanning(
        self, start: LogOffset, end: LogOffset, *, piece_bytes: int, kept_bytes: int
    ) -> Iterator[tuple[RangeScan, Definitions]]:
        definitions = Definitions(
            self._tables_at(start),
            self._config,
            self._filters,
            self._dialect,
            history=self._history,
            notices=self._notices,
        )
        connection, start = self._open_log(self._ends.known(start), end)
        # A failover begins a new epoch, which has to have its definitions before statements of its log are noted.
        self._history.moved(start.position, definitions.tables)
        with connection:
            scan = RangeScan(
                connection,
                definitions,
                start,
                mariadb=self._dialect.mariadb,
                piece_bytes=piece_bytes,
                kept_bytes=kept_bytes,
                patience=self._config.connect_keep_alive_interval_ms / 1000,
            )
            yield scan, definitions

    def _tables_at(self, offset: LogOffset) -> Tables:
        if self._known is not None and self._known[0] == offset.position.prefix:
            return self._known[1].copy()
        return self._history.tables_at(offset.position)

    def _work(self, piece: LogPiece, number: int) -> LogWork:
        return LogWork(
            piece.tables if piece.changes else self._captured(piece.tables),
            self._dialect,
            self._run_id,
            reader=number + 1,
            events=None if piece.events is None else tuple(piece.events),
            checksums=piece.checksums,
            gtids=piece.gtids,
        )

    def _captured(self, tables: Tables) -> Tables:
        """Only what events of captured tables need: where no definition changes the others mean nothing."""
        chosen = Tables(lower_case_table_names=tables.lower_case_table_names)
        for table in tables:
            if self._filters.captures(*table.id):
                chosen.put(table)
        return chosen


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
