"""The source `mysql` / `mariadb`: a snapshot of the captured tables, then the binary log."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from cdckit import (
    Batch,
    CdcError,
    ConnectOffset,
    Finding,
    HistoryRecord,
    Offset,
    RetrySchedule,
    SnapshotDueError,
    Source,
    SourceContext,
    Split,
    StateError,
    StateStore,
    Unmatched,
)
from cdckit.connector.context_headers import time_ordered_uuid
from cdckit.connector.guardrail import check_guardrail
from cdckit.connector.notifications.listener import SnapshotListener
from cdckit.connector.notifications.notifications import Notifications
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.table_marker import TableMarker
from cdckit_mysql.events.topic_collisions import check_topics
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.incremental.processor import SignalledProcessor
from cdckit_mysql.incremental.server import SnapshotServer
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset, check_given
from cdckit_mysql.schema_changes.records import SchemaChangeRecords
from cdckit_mysql.schema_changes.snapshot import snapshot_events
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.schema_history.topic import HistoryTopic
from cdckit_mysql.server.asked_server import AskedServer
from cdckit_mysql.server.connection import driver_errors, place
from cdckit_mysql.server.facts import RowLogging
from cdckit_mysql.server.readiness import readiness
from cdckit_mysql.snapshot.changed import change_told, left_of
from cdckit_mysql.snapshot.chunk_plan import plan_chunks, rows_of, share_out, tell_of
from cdckit_mysql.snapshot.chunks import read_chunks
from cdckit_mysql.snapshot.consistent import ConsistentSnapshot, note_point, pause
from cdckit_mysql.snapshot.recovery import recover_history
from cdckit_mysql.snapshot.resnapshot import TablesAgain, plain, tables_now, warn_of_missing
from cdckit_mysql.snapshot.selection import choose_tables
from cdckit_mysql.snapshot.snapshot_decision import SnapshotNeed
from cdckit_mysql.splits import ChunkWork, LogWork, SnapshotWork
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.inline_range import read_kept
from cdckit_mysql.streaming.log_beginnings import LogBeginnings
from cdckit_mysql.streaming.newly_captured import take_over_missing
from cdckit_mysql.streaming.opening import LogOpener, on_server, require_point
from cdckit_mysql.streaming.planning import LogPlanner
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.progress import is_beyond
from cdckit_mysql.streaming.range_ends import RangeEnds
from cdckit_mysql.streaming.reader import LogReader
from cdckit_mysql.streaming.retention import oldest_position
from cdckit_mysql.table import Table, Tables
from cdckit_mysql.takeover.offset import offset_of_connector
from cdckit_mysql.takeover.schema_history import definitions_at

log = logging.getLogger("cdckit.mysql")

_LOG_END_POLL = 0.025
"""How often, in seconds, the server is asked for its log's end while it is waited for …"""

_LOG_END_IDLE_POLL = 0.1
"""… and once the log has been still for a second."""


class MySqlSource(Source):
    """Reads a server of the MySQL family."""

    tells_marks = True

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._filters = Filters(config)
        self._context = SourceContext(config.topic_prefix)
        self._asked = AskedServer(config)
        self._run_id = str(time_ordered_uuid())
        self._captured_told = False
        self._topics_checked = False
        self._noted: str | None = None
        """The point of a snapshot whose definitions were read just now."""
        self._versions: dict[tuple[RowLogging, str], TableVersions] = {}
        self._signals: SnapshotServer | None = None
        kept = config.schema_history_internal == "kafka"
        self._history_topic = HistoryTopic(config, self._filters) if kept else None
        self._history_restored = False
        self._need = SnapshotNeed(
            config, self._asked.ready, self._history_reaches, self._recover_history, self._beginnings
        )
        self._again = TablesAgain(lambda: self._state, self._asked.log_end)

    @classmethod
    def check(cls, config: MySqlConfig) -> Sequence[Finding]:
        """Whether server and user are fit, for `cdc validate --connect`."""
        return readiness(config)

    def open(self, context: SourceContext) -> None:
        """Keeps the context; connects when something is asked.

        Raises:
            ConfigError: a channel of signals cannot be used.
            RetriableSourceError: that channel's server is away.
        """
        notifications = Notifications(self._config, self._config.topic_prefix, context.notices)
        self._told = SnapshotListener(notifications, context.notices, self._config.signal_data_collection)
        self._context = replace(context, notices=self._told)
        self._need.started = not context.starts
        if self._config.takes_signals and context.state is not None:
            self._signals = SnapshotServer(self._config, self._context, notifications)

    @property
    def streams(self) -> bool:
        """As `snapshot.mode` says."""
        return self._need.streams

    def retry_schedule(self) -> RetrySchedule:
        """As often as `errors.max.retries` says."""
        return RetrySchedule(self._config.errors_max_retries)

    def close(self) -> None:
        """Lets the connections go."""
        self._asked.close()
        if self._history_topic is not None:
            self._history_topic.close()
        if self._signals is not None:
            self._signals.close()

    def committed(self, offset: Offset) -> None:
        """Signals and definitions that nobody needs any more behind `offset` need not be kept."""
        at = LogOffset.from_json(offset)
        if not at.snapshot_due and self._context.state is not None:
            self._history.fold(at.position)
            self._again.settled(at)
        if self._signals is not None:
            self._signals.mailbox.committed()

    def check_offset(self, offset: Offset) -> None:
        """It must name a file of the log and a place in it."""
        check_given(offset)

    def adopt(self, offsets: Sequence[ConnectOffset], history: Iterator[HistoryRecord] | None) -> Offset:
        """Where a Debezium connector stood, with the definitions of its schema history, or those of the server."""
        at = offset_of_connector(offsets[0].offset or {}, self._asked, self._config)
        if history is None:
            self._recover_history(at)
        else:
            self._take_definitions(history, at)
        return at.to_json()

    def _take_definitions(self, records: Iterator[HistoryRecord], at: LogOffset) -> None:
        """Makes the definitions that Debezium's records give for `at` the history's."""
        server, _ = self._asked.ready()
        tables = definitions_at(records, at, self._asked.dialect, fold=server.lower_case_table_names)
        for table in [table for table in tables if not self._filters.tracks(*table.id)]:
            tables.remove(*table.id)
        self._history.rebuild(at.position, tables)

    def _restore_history(self, at: LogOffset) -> None:
        """Takes the definitions from the history's topic where the state has lost them."""
        topic, self._history_restored = self._history_topic, True
        if topic is None or at.snapshot_due or self._history.reaches(at.position):
            return
        log.warning("the state has no definitions at %s: they are taken from the history's topic", at.position)
        self._take_definitions(topic.records(), at)

    # -- planning

    def initial_offset(self) -> Offset:
        """Before a snapshot; where none is to be taken (mode `never`) the oldest place that the log still has."""
        if self._need.begins:
            return LogOffset(snapshot=SNAPSHOT_RUNNING).to_json()
        server, connection = self._asked.ready()
        with driver_errors(self._config, "asking for the oldest log file"):
            start = oldest_position(connection, server)
        self._history.start(start.position, Tables(lower_case_table_names=server.lower_case_table_names))
        return start.to_json()

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        """Where the log ends now, as soon as that is beyond `start`."""
        at = plain(self._need.start(LogOffset.kept(start)))
        self._again.settled(at)
        if at.snapshot_due:
            pause(self._context, self._config.snapshot_delay_ms)
            point = self._need.unfinished(at) or note_point(self._config, self._filters, self._history, at.epoch)
            self._noted = point.position.prefix
            return point.with_changes(after_snapshot=True, snapshot_chunks="").to_json()
        if not self._need.streams:
            return start
        known = self._ends.known(at).with_changes(resnapshot=at.resnapshot)
        at = on_server(known, self._asked.ready()[0], place(self._config))
        if (again := self._again.next_end(at, mariadb=self._asked.dialect.mariadb)) is not None:
            return again.to_json()
        begun = time.monotonic()
        while True:
            end = self._asked.log_end()
            if end.server != at.server:
                at = on_server(known, self._asked.ready()[0], place(self._config))
            elif is_beyond(end, at, mariadb=self._asked.dialect.mariadb):
                return end.with_changes(epoch=at.epoch, ts_sec=int(time.time())).to_json()
            waited = time.monotonic() - begun
            if waited >= wait_seconds or self._context.stopping():
                return start
            time.sleep(_LOG_END_POLL if waited < 1 else _LOG_END_IDLE_POLL)

    def cut(self, start: Offset, end: Offset, max_bytes: int) -> Offset:
        """The end of a transaction about `max_bytes` beyond `start`."""
        first, last = LogOffset.from_json(start), LogOffset.from_json(end)
        if last.after_snapshot or first.snapshot_due or self._asked.bytes_between(first, last) <= max_bytes:
            return end
        with self._snapshot_due_where_lost():
            found = self._planner.cut(first, last, max_bytes)
        return end if found == last else found.to_json()

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        """The snapshot, whole or in chunks; or the log, open-ended or a range of it."""
        if start == end:
            return []
        if not self._history_restored:
            self._restore_history(LogOffset.kept(start))
        if end is not None:
            until = LogOffset.from_json(end)
            return (
                self._plan_chunks(start, end, until, parallelism)
                if until.after_snapshot
                else self._plan_range(start, end, parallelism)
            )
        at = self._again.begun(self._need.start(LogOffset.kept(start)))
        if at.snapshot_due:
            rows = self._need.reads_rows(at)
            return [Split(start, start, SnapshotWork(at.epoch, rows, self._need.unfinished(at), at.resnapshot))]
        if not self._need.streams:
            return []
        tables = self._history.tables_at(at.position)
        self._tell_captured(tables)
        check_guardrail(self._config, self._filters.count(tables))
        check_topics(self._config, self._filters, tables)
        return [Split(start, None, LogWork(tables, self._asked.dialect, self._run_id))]

    def bounded(self, split: Split, end: Offset) -> Sequence[Split]:
        """The split up to `end`: who reads it here keeps the definitions that change on the way."""
        first, last = LogOffset.from_json(split.start), LogOffset.from_json(end)
        due = first.position.prefix < last.position.prefix or self._signals is not None
        return [replace(split, end=end)] if due else []

    def _plan_range(self, start: Offset, end: Offset, parallelism: int) -> list[Split]:
        first, last = LogOffset.from_json(start), LogOffset.from_json(end)
        if first.position.prefix >= last.position.prefix:
            return []
        if not self._need.started:  # a batch that was planned in an earlier run comes first
            self._need.renew_history(first)
        self._history.fold(first.position)
        if self._context.counts.wanted and not self._captured_told:
            self._tell_captured(self._history.tables_at(first.position))
        if not self._topics_checked:
            check_topics(self._config, self._filters, self._history.tables_at(first.position))
            self._topics_checked = True
        with self._snapshot_due_where_lost():
            return self._planner.splits(start, end, self._asked.bytes_between(first, last), parallelism)

    def _plan_chunks(self, start: Offset, end: Offset, point: LogOffset, parallelism: int) -> list[Split]:
        _, connection = self._asked.ready()
        again = point.resnapshot
        tables = self._history.tables_at(point.position)
        if again is not None:
            self._planner.forget()
            tables = tables_now(
                connection, self._config, self._filters, self._asked.dialect, self._history, tables, point
            )
        check_topics(self._config, self._filters, tables)
        tells = self._config.include_schema_changes and again is None
        created = self._history.created_at(point.position) if tells else None
        events = () if created is None else tuple(snapshot_events(tables, created))
        definitions = Split(start, end, ChunkWork((), self._asked.dialect, self._run_id, events))
        if again is None and not self._need.reads_rows(LogOffset.from_json(start)):
            return [definitions] if events else []
        with self._snapshot_due_where_lost():
            require_point(connection, self._config, point)
        with driver_errors(self._config, "planning the snapshot"), change_told(self._config, "a table"):
            chosen = choose_tables(connection, tables, self._config, self._filters, point.only)
            if again is not None or self._noted != point.position.prefix:
                chosen = left_of(connection, self._config, self._filters, self._asked.dialect, tables, chosen)
            self._noted = None
            chunks = plan_chunks(connection, chosen, parallelism)
        tell_of(chosen, chunks, self._context.notices)
        warn_of_missing(again, chosen)
        splits = [
            Split(start, end, ChunkWork(tuple(group), self._asked.dialect, self._run_id), rows_of(group))
            for group in share_out(chunks, parallelism)
        ]
        if events:
            splits.insert(0, definitions)
        return self._with_marks(splits, definitions, [table.table for table in chosen], tables)

    def _with_marks(self, splits: list[Split], alone: Split, read: Sequence[Table], tables: Tables) -> list[Split]:
        """The splits of a snapshot, of which the first tells that it begins and ends; `alone` where there is none."""
        if not self._context.marks or not read:
            return splits
        first, *rest = splits or [alone]
        captured = tuple(table for table in tables if self._filters.captures(*table.id))
        return [replace(first, payload=replace(first.payload, marked=tuple(read), captured=captured)), *rest]

    def _tell_captured(self, tables: Tables) -> None:
        """Which tables the log is read for, once, where somebody asks."""
        if self._context.counts.wanted and not self._captured_told:
            self._captured_told = True
            names = [str(table.id) for table in tables if self._filters.captures(*table.id)]
            self._context.notices.captured(data_collections=names)

    # -- reading

    def read(self, split: Split) -> Iterator[Batch]:
        """The split's batches."""
        work = split.payload
        if isinstance(work, SnapshotWork):
            snapshot = ConsistentSnapshot(
                self._config,
                self._filters,
                self._context,
                self._state,
                self._history,
                self._versions_of,
                self._read_between,
            )
            return self._told.snapshot(snapshot.batches(work), _behind_snapshot)
        if isinstance(work, ChunkWork):
            return self._read_chunks(work, LogOffset.from_json(split.end or {}))
        if work.reader or self._context.state is None:
            return self._read_log(split, work)
        return self._told.log(self._read_log(split, work, self._signals))

    def _read_chunks(self, work: ChunkWork, point: LogOffset) -> Iterator[Batch]:
        versions = self._versions_of(work.dialect.rows, work.run_id)
        if work.told:
            made = SchemaChangeRecords(self._config, self._filters, versions)
            ends = not self._need.reads_rows(LogOffset())
            for records in made.of_snapshot(work.told, point, ends=ends):
                yield Batch(records, None)
        if work.marked:
            marker = TableMarker(self._filters, versions)
            yield Batch([], None, marks=list(marker.of_snapshot(point.position, work.marked, work.captured)))
        if work.chunks:
            notices = self._context.notices
            yield from read_chunks(self._config, self._filters, versions, work.chunks, point, notices, work.dialect)

    def _read_between(self, start: LogOffset, end: LogOffset, signalled: bool) -> Iterator[Batch]:
        work = LogWork(self._history.tables_at(start.position), self._asked.dialect, self._run_id, here=True)
        signals = self._signals if signalled else None
        return self._read_log(Split(start.to_json(), end.to_json()), work, signals, within=True)

    def _read_log(
        self, split: Split, work: LogWork, signals: SnapshotServer | None = None, *, within: bool = False
    ) -> Iterator[Batch]:
        start = LogOffset.from_json(split.start)
        read_from = start if work.reader or self._context.state is None else self._ends.known(start)
        history = self._history if self._context.state is not None else None
        definitions = Definitions(
            work.tables, self._config, self._filters, work.dialect, history=history, notices=self._context.notices
        )
        if history is not None and not work.reader:
            take_over_missing(self._asked.ready()[1], self._config, self._filters, definitions, start.position)
        versions = self._versions_of(work.dialect.rows, work.run_id)
        marker = TableMarker(self._filters, versions) if self._context.marks else None

        def make_processor(at: LogOffset) -> LogProcessor:
            if history is not None:
                history.moved(at.position, definitions.tables)
            processor = (
                LogProcessor(self._config, self._filters, versions, definitions, at, marker)
                if signals is None
                else SignalledProcessor(self._config, self._filters, versions, definitions, at, signals, within=within)
            )
            processor.count_in(self._context.counts)
            return processor

        if work.events is not None:
            return read_kept(work, start, make_processor(start), self._config.max_batch_size)
        follow = split.end is None or signals is not None
        end = None if split.end is None else LogOffset.from_json(split.end)
        opener = LogOpener(
            self._config,
            reader=work.reader,
            attempt=split.attempt,
            follow=follow,
            by_file=not follow,
            only=work.only_server(start, end, listens=signals is not None),
        )
        reader = LogReader(self._config, opener, make_processor, self._context)
        if end is None:
            return self._followed(reader.follow(read_from))
        if work.gtids is not None:
            end = end.with_changes(file="", pos=0, gtids=work.gtids)

        def replayed(here: LogOffset) -> None:
            if history is not None and split.end is not None:
                planned = LogOffset.from_json(split.end)
                self._planner.replayed(planned, planned, here, definitions.tables)

        return self._ranged(reader.range(read_from, end, replayed))

    def _ranged(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        with self._snapshot_due_where_lost():
            yield from batches

    @contextmanager
    def _snapshot_due_where_lost(self) -> Iterator[None]:
        """Lets the runner plan anew where the server has the log no more and a snapshot may be taken for that."""
        try:
            yield
        except PositionLostError as error:
            self._need.lost(str(error))
            raise SnapshotDueError(str(error)) from error

    def _followed(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches; they end where the server has the log no more and a snapshot may be taken for that."""
        try:
            yield from batches
        except PositionLostError as error:
            self._need.lost(str(error))

    # -- lag and the state

    def readable(self) -> Sequence[str]:
        """The captured tables that the server has, but for that of signals."""
        return self._asked.captured(self._filters)

    def unmatched(self) -> Sequence[Unmatched]:
        """Of the lists of databases and of tables."""
        return self._asked.unmatched_entries()

    def owes_rows(self, start: Offset) -> bool:
        """As the state says."""
        return self._again.due(LogOffset.from_json(start)) is not None

    def lag_bytes(self, offset: Offset) -> int | None:
        """By the sizes of the log's files."""
        at = LogOffset.from_json(offset)
        if at.snapshot_due:
            return None
        try:
            end = self._asked.log_end()
            return max(0, self._asked.bytes_between(at, end)) if at.server in (None, end.server) else None
        except CdcError:  # a wish to stop, too
            return None

    def time_ms(self, offset: Offset) -> int | None:
        """To the second."""
        return LogOffset.from_json(offset).ts_sec * 1000 or None

    @cached_property
    def _history(self) -> SchemaHistory:
        return SchemaHistory(self._state, self._context.notices, self._history_topic)

    @property
    def _state(self) -> StateStore:
        if self._context.state is None:
            raise StateError("planning needs the pipeline's state")
        return self._context.state

    def _beginnings(self) -> LogBeginnings | None:
        return LogBeginnings(self._config, self._context.state) if self._context.state is not None else None

    def _history_reaches(self, at: LogOffset) -> bool:
        return self._history.reaches(at.position)

    def _recover_history(self, at: LogOffset) -> None:
        recover_history(self._config, self._filters, self._history, self._asked.dialect, at)

    @cached_property
    def _planner(self) -> LogPlanner:
        return LogPlanner(
            self._config,
            self._filters,
            self._asked.dialect,
            self._history,
            self._context.notices,
            self._run_id,
            self._ends,
        )

    @cached_property
    def _ends(self) -> RangeEnds:
        return RangeEnds(self._state)

    def _versions_of(self, rows: RowLogging, run_id: str | None = None) -> TableVersions:
        key = (rows, run_id or self._run_id)
        if key not in self._versions:
            self._versions = {key: TableVersions(self._config, self._filters, rows, run_id=key[1])}
        return self._versions[key]


def _behind_snapshot(offset: Offset) -> bool:
    return not LogOffset.from_json(offset).snapshot_due
