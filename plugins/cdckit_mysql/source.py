"""The source `mysql` / `mariadb`: a snapshot of the captured tables, then the binary log."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import pymysql

from cdckit.checks import Finding
from cdckit.context_headers import time_ordered_uuid
from cdckit.errors import RetriableSourceError, SnapshotDueError, SourceError, StateError
from cdckit.guardrail import check_guardrail
from cdckit.notifications.listener import SnapshotListener
from cdckit.notifications.notifications import Notifications
from cdckit.record import Batch, Offset
from cdckit.retry_schedule import RetrySchedule
from cdckit.snapshot_progress import SnapshotProgress
from cdckit.source import Source, SourceContext, Split
from cdckit.state.store import StateStore
from cdckit.takeover.history import HistoryRecord
from cdckit.takeover.offsets import ConnectOffset
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.checks import check_log, say_row_image
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.connection import Connection, at_once, connect, place, release, told
from cdckit_mysql.debezium_history import definitions_at
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.history import SchemaHistory
from cdckit_mysql.history_topic import HistoryTopic
from cdckit_mysql.incremental.processor import SignalledProcessor
from cdckit_mysql.incremental.server import SnapshotServer
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset, check_given
from cdckit_mysql.readiness import readiness
from cdckit_mysql.schema_changes.records import SchemaChangeRecords
from cdckit_mysql.schema_changes.snapshot import snapshot_events
from cdckit_mysql.server import Dialect, RowLogging, Server, log_end, log_files, read_dialect, read_server
from cdckit_mysql.snapshot.chunk_plan import plan_chunks, share_out
from cdckit_mysql.snapshot.chunks import read_chunks
from cdckit_mysql.snapshot.consistent import ConsistentSnapshot, note_point, pause
from cdckit_mysql.snapshot.need import SnapshotNeed
from cdckit_mysql.snapshot.recovery import recover_history
from cdckit_mysql.snapshot.selection import choose_tables
from cdckit_mysql.splits import ChunkWork, LogWork, SnapshotWork
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.kept_log import read_kept
from cdckit_mysql.streaming.newly_captured import take_over_missing
from cdckit_mysql.streaming.opening import LogOpener, on_server
from cdckit_mysql.streaming.planning import LogPlanner, bytes_between
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.reader import LogReader
from cdckit_mysql.streaming.retention import oldest_position
from cdckit_mysql.table import Tables

log = logging.getLogger("cdckit.mysql")

_LOG_END_POLL = 0.025
"""How often, in seconds, the server is asked for its log's end while it is waited for …"""

_LOG_END_IDLE_POLL = 0.1
"""… and once the log has been still for a second."""

_IDLE = 10.0
"""After so many seconds without use, the connection is asked whether it is still there."""


class MySqlSource(Source):
    """Reads a server of the MySQL family."""

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._filters = Filters(config)
        self._context = SourceContext(config.topic_prefix)
        self._connection: Connection | None = None
        self._used = 0.0
        self._server: Server | None = None
        self._run_id = str(time_ordered_uuid())
        self._captured_told = False
        self._versions: dict[tuple[RowLogging, str], TableVersions] = {}
        self._signals: SnapshotServer | None = None
        kept = config.schema_history_internal == "kafka"
        self._history_topic = HistoryTopic(config, self._filters) if kept else None
        self._history_restored = False
        self._need = SnapshotNeed(config, self._asked, self._history_reaches, self._recover_history)

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
        notifications = Notifications(self._config, self._config.topic_prefix, context.notify)
        self._told = SnapshotListener(notifications, context.notify, self._config.signal_data_collection)
        self._context = replace(context, notify=self._told)
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
        release(self._connection)
        self._connection = None
        if self._history_topic is not None:
            self._history_topic.close()
        if self._signals is not None:
            self._signals.close()

    def committed(self, offset: Offset) -> None:
        """Signals and definitions that nobody needs any more behind `offset` need not be kept."""
        at = LogOffset.from_json(offset)
        if not at.snapshot_due and self._context.state is not None:
            self._history.fold(at.position)
        if self._signals is not None:
            self._signals.mailbox.committed()

    def check_offset(self, offset: Offset) -> None:
        """It must name a file of the log and a place in it."""
        check_given(offset)

    def adopt(self, offsets: Sequence[ConnectOffset], history: Iterator[HistoryRecord] | None) -> Offset:
        """Where a Debezium connector stood, with the definitions of its schema history, or those of the server."""
        at = LogOffset.from_json(offsets[0].offset or {})
        if at.snapshot_due:
            raise StateError("the connector's snapshot was not finished: start without its offset, with a new snapshot")
        if history is None:
            self._recover_history(at)
        else:
            self._take_definitions(history, at)
        return at.to_json()

    def _take_definitions(self, records: Iterator[HistoryRecord], at: LogOffset) -> None:
        """Makes the definitions that Debezium's records give for `at` the history's."""
        server, _ = self._asked()
        tables = definitions_at(records, at, self._dialect, fold=server.lower_case_table_names)
        for table in list(tables):
            if not self._filters.tracks(*table.id):
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
        server, connection = self._asked()
        with told(self._config, "asking for the oldest log file"):
            start = oldest_position(connection, server)
        self._history.start(start.position, Tables(lower_case_table_names=server.lower_case_table_names))
        return start.to_json()

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        """Where the log ends now, as soon as that is beyond `start`."""
        at = self._need.start(LogOffset.from_json(start))
        if at.snapshot_due:
            pause(self._context, self._config.snapshot_delay_ms)
            point = self._need.unfinished(at) or note_point(self._config, self._filters, self._history, at.epoch)
            return point.with_changes(after_snapshot=True, snapshot_chunks="").to_json()
        if not self._need.streams:
            return start
        at = on_server(at, self._asked()[0], place(self._config))
        begun = time.monotonic()
        while True:
            end = self._log_end()
            if (end.file, end.pos) != (at.file, at.pos):
                return end.with_changes(epoch=at.epoch, ts_sec=int(time.time())).to_json()
            waited = time.monotonic() - begun
            if waited >= wait_seconds or self._context.stopping():
                return start
            time.sleep(_LOG_END_POLL if waited < 1 else _LOG_END_IDLE_POLL)

    def cut(self, start: Offset, end: Offset, max_bytes: int) -> Offset:
        """The end of a transaction about `max_bytes` beyond `start`."""
        first, last = LogOffset.from_json(start), LogOffset.from_json(end)
        if last.after_snapshot or first.snapshot_due or self._bytes_between(first, last) <= max_bytes:
            return end
        with self._snapshot_due_where_lost():
            found = self._planner.cut(first, last, max_bytes)
        return end if found == last else found.to_json()

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        """The snapshot, whole or in chunks; or the log, open-ended or a range of it."""
        if start == end:
            return []
        if not self._history_restored:
            self._restore_history(LogOffset.from_json(start))
        if end is not None:
            until = LogOffset.from_json(end)
            return (
                self._plan_chunks(start, end, until, parallelism)
                if until.after_snapshot
                else self._plan_range(start, end, parallelism)
            )
        at = self._need.start(LogOffset.from_json(start))
        if at.snapshot_due:
            rows = self._need.reads_rows(at)
            return [Split(start, start, SnapshotWork(at.epoch, rows, self._need.unfinished(at)))]
        if not self._need.streams:
            return []
        tables = self._history.tables_at(at.position)
        self._tell_captured(tables)
        check_guardrail(self._config, self._filters.count(tables))
        return [Split(start, None, LogWork(tables, self._dialect, self._run_id))]

    def bounded(self, split: Split, end: Offset) -> Sequence[Split]:
        """The split up to `end`: who reads it here keeps the definitions that change on the way."""
        first, last = LogOffset.from_json(split.start), LogOffset.from_json(end)
        due = first.position.prefix < last.position.prefix or self._signals is not None
        return [replace(split, end=end)] if due else []

    def _plan_range(self, start: Offset, end: Offset, parallelism: int) -> list[Split]:
        first, last = LogOffset.from_json(start), LogOffset.from_json(end)
        if first.position.prefix >= last.position.prefix:
            return []
        self._history.fold(first.position)
        if self._context.counts.wanted and not self._captured_told:
            self._tell_captured(self._history.tables_at(first.position))
        with self._snapshot_due_where_lost():
            return self._planner.splits(start, end, self._bytes_between(first, last), parallelism)

    def _plan_chunks(self, start: Offset, end: Offset, point: LogOffset, parallelism: int) -> list[Split]:
        server, connection = self._asked()
        tables = self._history.tables_at(point.position)
        created = self._history.created_at(point.position) if self._config.include_schema_changes else None
        events = () if created is None else tuple(snapshot_events(tables, created))
        definitions = Split(start, end, ChunkWork((), server.rows, self._run_id, events))
        if not self._need.reads_rows(LogOffset.from_json(start)):
            return [definitions] if events else []
        with told(self._config, "planning the snapshot"):
            chosen = choose_tables(connection, tables, self._config, self._filters)
            chunks = plan_chunks(connection, chosen, parallelism)
        self._context.notify("snapshot_started", data_collections={str(table.id): table.estimate for table in chosen})
        filled = {chunk.table.id for chunk in chunks}
        for table in (table for table in chosen if table.id not in filled):
            SnapshotProgress(self._context.notify, str(table.id), 0).finished()
        splits = [
            Split(
                start,
                end,
                ChunkWork(tuple(group), server.rows, self._run_id),
                sum(chunk.estimate for chunk in group),
            )
            for group in share_out(chunks, parallelism)
        ]
        return [definitions, *splits] if events else splits

    def _tell_captured(self, tables: Tables) -> None:
        """Which tables the log is read for, once, where somebody asks."""
        if self._context.counts.wanted and not self._captured_told:
            self._captured_told = True
            names = [str(table.id) for table in tables if self._filters.captures(*table.id)]
            self._context.notify("captured", data_collections=names)

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
        versions = self._versions_of(work.rows, work.run_id)
        if work.told:
            made = SchemaChangeRecords(self._config, self._filters, versions)
            ends = not self._need.reads_rows(LogOffset())
            for records in made.of_snapshot(work.told, point, ends=ends):
                yield Batch(records, None)
        if work.chunks:
            yield from read_chunks(self._config, self._filters, versions, work.chunks, point, self._context.notify)

    def _read_between(self, start: LogOffset, end: LogOffset) -> Iterator[Batch]:
        work = LogWork(self._history.tables_at(start.position), self._dialect, self._run_id)
        return self._read_log(Split(start.to_json(), end.to_json()), work)

    def _read_log(self, split: Split, work: LogWork, signals: SnapshotServer | None = None) -> Iterator[Batch]:
        start = LogOffset.from_json(split.start)
        history = self._history if self._context.state is not None else None
        definitions = Definitions(
            work.tables, self._config, self._filters, work.dialect, history=history, notify=self._context.notify
        )
        if history is not None and not work.reader:
            take_over_missing(self._asked()[1], self._config, self._filters, definitions, start.position)
        versions = self._versions_of(work.dialect.rows, work.run_id)

        def make_processor(at: LogOffset) -> LogProcessor:
            if history is not None:
                history.moved(at.position, definitions.tables)
            processor = (
                LogProcessor(self._config, self._filters, versions, definitions, at)
                if signals is None
                else SignalledProcessor(self._config, self._filters, versions, definitions, at, signals)
            )
            processor.count_in(self._context.counts)
            return processor

        if work.events is not None:
            return read_kept(work, start, make_processor(start), self._config.max_batch_size)
        follow = split.end is None or signals is not None
        opener = LogOpener(self._config, reader=work.reader, follow=follow, by_file=not follow)
        reader = LogReader(self._config, opener, make_processor, self._context)
        if split.end is None:
            return self._followed(reader.follow(start))
        return self._ranged(reader.range(start, LogOffset.from_json(split.end)))

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

    # -- the server and the state

    def lag_bytes(self, offset: Offset) -> int | None:
        """By the sizes of the log's files."""
        at = LogOffset.from_json(offset)
        if at.snapshot_due:
            return None
        try:
            return max(0, self._bytes_between(at, self._log_end()))
        except (SourceError, StateError):
            return None

    def time_ms(self, offset: Offset) -> int | None:
        """To the second."""
        return LogOffset.from_json(offset).ts_sec * 1000 or None

    def _bytes_between(self, start: LogOffset, end: LogOffset) -> int:
        _, connection = self._asked()
        with told(self._config, "asking for the log files"), at_once(connection, self._config):
            return bytes_between(log_files(connection), start, end)

    def _log_end(self) -> LogOffset:
        server, connection = self._asked()
        with told(self._config, "asking for the log's end"), at_once(connection, self._config):
            return log_end(connection, server)

    def _asked(self) -> tuple[Server, Connection]:
        """The server's facts, and a connection that is open.

        Raises:
            SourceError: the server cannot be reached for the first time, refuses, or logs no rows.
            RetriableSourceError: it cannot be reached any more.
        """
        idle, self._used = time.monotonic() - self._used, time.monotonic()
        if (
            self._connection is None
            or not self._connection.open
            or (idle > _IDLE and not self._alive(self._connection))
        ):
            self._connection = self._connect()
            with told(self._config, "asking the server for its settings"):
                self._server = read_server(self._connection)
            check_log(self._server, place(self._config))
            say_row_image(self._server, place(self._config))
        assert self._server is not None
        return self._server, self._connection

    def _alive(self, connection: Connection) -> bool:
        """Whether an idle connection still answers; the server closes one that is idle for too long."""
        try:
            with at_once(connection, self._config):
                connection.ping(reconnect=False)
        except pymysql.MySQLError:
            return False
        return True

    def _connect(self) -> Connection:
        try:
            return connect(self._config)
        except RetriableSourceError as error:
            if self._server is not None:
                raise
            raise SourceError(str(error)) from error

    @cached_property
    def _dialect(self) -> Dialect:
        server, connection = self._asked()
        with told(self._config, "asking the server for its character sets"):
            return read_dialect(connection, server)

    @cached_property
    def _history(self) -> SchemaHistory:
        return SchemaHistory(self._state, self._context.notify, self._history_topic)

    @property
    def _state(self) -> StateStore:
        if self._context.state is None:
            raise StateError("planning needs the pipeline's state")
        return self._context.state

    def _history_reaches(self, at: LogOffset) -> bool:
        return self._history.reaches(at.position)

    def _recover_history(self, at: LogOffset) -> None:
        recover_history(self._config, self._filters, self._history, self._dialect, at)

    @cached_property
    def _planner(self) -> LogPlanner:
        return LogPlanner(self._config, self._filters, self._dialect, self._history, self._context.notify, self._run_id)

    def _versions_of(self, rows: RowLogging, run_id: str | None = None) -> TableVersions:
        key = (rows, run_id or self._run_id)
        if key not in self._versions:
            self._versions = {key: TableVersions(self._config, self._filters, rows, run_id=key[1])}
        return self._versions[key]


def _behind_snapshot(offset: Offset) -> bool:
    return not LogOffset.from_json(offset).snapshot_due
