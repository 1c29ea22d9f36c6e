"""Reads the pieces of the log that a source is asked for, with the definitions in force at each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from cdckit import Batch, SourceContext, Split
from cdckit.connector.heartbeat import Heartbeats
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.table_marker import TableMarker
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.incremental.server import SnapshotServer
from cdckit_mysql.incremental.signalling import Signalling
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.facts import Dialect, RowLogging
from cdckit_mysql.splits import LogWork
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.epochs import Epochs
from cdckit_mysql.streaming.log_origin import LogOrigin
from cdckit_mysql.streaming.opened_log import OpenLog
from cdckit_mysql.streaming.planning import LogPlanner
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.processor_parts import Listen, ProcessorParts
from cdckit_mysql.streaming.range_ends import RangeEnds
from cdckit_mysql.streaming.reader import LogReader, kept_events, read_kept
from cdckit_mysql.streaming.repeating_processor import processor_of
from cdckit_mysql.streaming.reselection import Reselection
from cdckit_mysql.streaming.row_ends import RowEnds
from cdckit_mysql.table import Tables


class LogReading:
    """Makes batches of pieces of the log.

    Args:
        config: the source's options.
        filters: what is captured.
        context: gives the runner's.
        origin: where the log is.
        history: the definitions that are kept; None where nothing is.
        ends: gives the ends of ranges as this server counts; None where nothing is kept.
        epochs: gives the epochs of what is read; None where nothing is kept.
        versions: gives what makes records of rows that are logged so, for one run of the source.
        reselection: reads columns of changed rows again; None where none are to be read.
        planner: gives what plans ranges, which is told of those that were planned at another server.
    """

    def __init__(
        self,
        config: MySqlConfig,
        filters: Filters,
        context: Callable[[], SourceContext],
        origin: LogOrigin,
        history: SchemaHistory | None,
        ends: RangeEnds | None,
        epochs: Epochs | None,
        versions: Callable[[RowLogging, str], TableVersions],
        reselection: Reselection | None,
        planner: Callable[[], LogPlanner],
    ) -> None:
        self._config = config
        self._filters = filters
        self._context = context
        self._origin = origin
        self._history = history
        self._ends = ends
        self._epochs = epochs
        self._versions = versions
        self._reselection = reselection
        self._planner = planner
        self._missing_known = False

    def take_over_missing(self, first: LogOffset) -> None:
        """The definitions that the history lacks where reading begins, before any are looked at."""
        if self._history is not None and not self._missing_known:
            tables = self._history.tables_at(first.position)
            self._take_over(self._definitions(tables, self._origin.dialect), first)

    def batches(
        self, split: Split, heartbeats: Heartbeats, signals: SnapshotServer | None = None, *, within: bool = False
    ) -> Iterator[Batch]:
        """The batches of a split; one without an end is followed.

        Args:
            split: the piece.
            heartbeats: come among the batches of one that is followed.
            signals: what is asked for beside it; None: nothing is listened to.
            within: whether more of the log belongs to the same batch.
        """
        work: LogWork = split.payload
        start = LogOffset.from_json(split.start)
        definitions = self._definitions(work.tables, work.dialect)
        if not work.reader:
            self._take_over(definitions, start)
        make = self._processors(work, start, definitions, signals, within=within)
        if (kept := kept_events(work)) is not None:
            return read_kept(kept, start, make, work, self._config.max_batch_size)
        open_log: OpenLog = self._origin.opener(split, listens=signals is not None)
        if self._epochs is not None and not work.reader:
            open_log = self._epochs.above(open_log)
        reader = LogReader(self._config, open_log, make, self._context())
        read_from = start if work.reader or self._ends is None else self._ends.known(start)
        if split.end is None:
            return reader.follow(read_from, heartbeats)
        planned = LogOffset.from_json(split.end)
        end = work.until(planned)
        if work.part:
            return reader.part(start, end, work.begun)

        def replayed(here: LogOffset) -> None:
            if self._history is not None:
                self._planner().replayed(planned, end, here, definitions.tables)

        return reader.range(read_from, end, replayed, within=within)

    def _processors(
        self, work: LogWork, start: LogOffset, definitions: Definitions, signals: SnapshotServer | None, *, within: bool
    ) -> Callable[[LogOffset], LogProcessor]:
        config, filters, context = self._config, self._filters, self._context()
        versions = self._versions(work.dialect.rows, work.run_id)
        marker = TableMarker(filters, versions, work.unnamed()) if context.marks else None
        listen: Listen | None = None
        if signals is not None:
            listen = partial(Signalling, config, filters, versions, definitions, signals, within=within)

        def make(at: LogOffset) -> LogProcessor:
            if self._history is not None:
                self._history.moved(at.position, definitions.tables, anew=at.epoch > start.epoch)
            parts = ProcessorParts(config, filters, versions, definitions, at, marker, listen, self._reselection)
            processor = processor_of(work.ends, parts)
            processor.row_ends = RowEnds() if work.tells_ends else None
            processor.count_in(context.counts)
            processor.failures.undecoded = None if filters.hides_columns else context.undecoded
            return processor

        return make

    def _definitions(self, tables: Tables, dialect: Dialect) -> Definitions:
        history, notices = self._history, self._context().notices
        return self._origin.definitions(tables, self._config, self._filters, dialect, history=history, notices=notices)

    def _take_over(self, definitions: Definitions, at: LogOffset) -> None:
        """Once: the lists do not change while it runs, and the log tells of new tables."""
        if self._history is not None and not self._missing_known:
            self._origin.take_over_missing(self._filters, definitions, at.position)
            self._missing_known = True
