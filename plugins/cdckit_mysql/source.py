"""The source `mysql` / `mariadb`: a snapshot of the captured tables, then the binary log; or log files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from cdckit import (
    Batch,
    CdcError,
    ConnectOffset,
    DecodeError,
    Finding,
    HistoryRecord,
    Offset,
    Record,
    Retention,
    RetriableSourceError,
    RetrySchedule,
    SourceContext,
    SourceError,
    Split,
    TableExample,
    Undecoded,
    Unmatched,
)
from cdckit.connector.context_headers import time_ordered_uuid
from cdckit.connector.guardrail import check_guardrail
from cdckit.connector.heartbeat import Heartbeats
from cdckit.connector.source import ConnectorSource
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.defined_tables import tell_definitions
from cdckit_mysql.events.table_marker import TableMarker
from cdckit_mysql.events.topic_collisions import check_topics
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.files.origin import FilesOrigin
from cdckit_mysql.filters import Filters
from cdckit_mysql.incremental.server import SnapshotServer
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset, check_given, place_of_record
from cdckit_mysql.schema_changes.records import SchemaChangeRecords
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.schema_history.renewal import HistoryRenewal
from cdckit_mysql.server.facts import RowLogging
from cdckit_mysql.server.origin import ServerOrigin
from cdckit_mysql.snapshot.chunks import read_chunks
from cdckit_mysql.snapshot.consistent import ConsistentSnapshot
from cdckit_mysql.snapshot.modes import snapshot_mode
from cdckit_mysql.snapshot.resnapshot import lies_before
from cdckit_mysql.splits import ChunkWork, LogWork, SnapshotWork
from cdckit_mysql.streaming.epochs import Epochs
from cdckit_mysql.streaming.failures import InconsistentSchemaError
from cdckit_mysql.streaming.heartbeat_action import HeartbeatAction
from cdckit_mysql.streaming.log_origin import LogOrigin
from cdckit_mysql.streaming.log_reading import LogReading
from cdckit_mysql.streaming.pace import Pace
from cdckit_mysql.streaming.passed_over import rows_of
from cdckit_mysql.streaming.planning import LogPlanner
from cdckit_mysql.streaming.range_ends import RangeEnds
from cdckit_mysql.streaming.reader import heartbeats_of
from cdckit_mysql.streaming.reselection import Reselection
from cdckit_mysql.streaming.spool import Spool
from cdckit_mysql.streaming.strict_processor import StrictProcessors
from cdckit_mysql.table import Tables

_FIRST_WAIT = 0.3
"""How many seconds after a connection was lost the server is asked again for the first time."""


class MySqlSource(ConnectorSource[MySqlConfig, LogOffset]):
    """Reads a server of the MySQL family, or files of its log."""

    lost_error = PositionLostError
    snapshot_catches_up = True

    def __init__(self, config: MySqlConfig) -> None:
        super().__init__(config, LogOffset, snapshot_mode(config), unread=config.signal_data_collection)
        self._filters = Filters(config)
        self._origin = _origin_of(config)
        self.archived = self._origin.archived
        self._run_id = str(time_ordered_uuid())
        self._captured_told = False
        self._topics_checked = False
        self._versions: dict[tuple[RowLogging, str], TableVersions] = {}
        self._signals: SnapshotServer | None = None
        self._heartbeat_action = HeartbeatAction(config)
        self._reselection = Reselection(config, self._filters) if config.post_processors else None
        self._renewal = HistoryRenewal(config, self._filters, self._origin, lambda: self._history)
        self._snapshots = self._origin.snapshots(
            self._filters, self._mode, self._renewal, lambda: self._history, self._run_id
        )

    @classmethod
    def check(cls, config: MySqlConfig) -> Sequence[Finding]:
        """Whether server and user, or the files, are fit, for `cdc validate --connect`."""
        return _origin_of(config).check()

    @classmethod
    def check_retention(cls, config: MySqlConfig, offset: Offset) -> Retention | None:
        """How long the server keeps its log from an offset on."""
        if config.binlog_files:
            return None
        origin = ServerOrigin(config)
        try:
            return origin.check_retention(LogOffset.from_json(offset))
        finally:
            origin.close()

    def open(self, context: SourceContext) -> None:
        """Keeps the context; connects when something is asked.

        Raises:
            ConfigError: a channel of signals cannot be used.
            RetriableSourceError: that channel's server is away.
        """
        super().open(context)
        self._snapshots.open(self._context)
        if self._mailbox is not None:
            self._signals = SnapshotServer(self._config, self._context, self._notifications, self._mailbox)

    def retry_schedule(self) -> RetrySchedule:
        """As often as `errors.max.retries` says, in waits up to `retriable.restart.connector.wait.ms`."""
        longest_wait = self._config.retriable_restart_connector_wait_ms / 1000
        return RetrySchedule(self._config.errors_max_retries, first_wait=_FIRST_WAIT, longest_wait=longest_wait)

    def close(self) -> None:
        """Lets the connections go."""
        super().close()
        if "_planner" in self.__dict__:
            self._planner.close()
        self._origin.close()
        self._renewal.close()
        self._heartbeat_action.close()
        if self._reselection is not None:
            self._reselection.close()
        if self._signals is not None:
            self._signals.close()

    def committed(self, offset: Offset) -> None:
        """Signals and definitions that nobody needs any more behind `offset` need not be kept."""
        at = LogOffset.from_json(offset)
        if not at.snapshot_due and self._context.state is not None:
            self._history.fold(at.position)
        super().committed(offset)

    def check_offset(self, offset: Offset) -> None:
        """It must name a file of the log and a place in it."""
        check_given(offset)

    def adopt(self, offsets: Sequence[ConnectOffset], history: Iterator[HistoryRecord] | None) -> Offset:
        """Where a Debezium connector stood, with the definitions of its schema history, or those of the server."""
        return self._snapshots.adopt(offsets[0].offset or {}, history).to_json()

    def connector_offset(self, connector: str, offset: Offset) -> ConnectOffset:
        """That of a place in the log; a transaction in hand begins anew."""
        return ConnectOffset(connector, {"server": self._config.topic_prefix}, LogOffset.kept(offset).for_connector())

    # -- planning

    def initial_offset(self) -> Offset:
        """Before a snapshot; where none is to be taken (mode `never`) the oldest place that the log still has."""
        if self._snapshots.begins:
            return LogOffset(snapshot=SNAPSHOT_RUNNING).to_json()
        return self._origin.begin(self._history).to_json()

    def _start(self, at: LogOffset) -> LogOffset:
        return self._snapshots.start(at)

    def _lost(self, error: SourceError) -> str:
        return self._snapshots.lost(error)

    def _snapshot_point(self, at: LogOffset) -> LogOffset:
        return self._snapshots.point(at)

    def _located(self, at: LogOffset) -> LogOffset:
        known = self._ends.known(at).with_changes(resnapshot=at.resnapshot)
        return self._epochs.behind_last(self._origin.located(known))

    def _log_end(self, at: LogOffset) -> LogOffset:
        return self._origin.end(at)

    def _end_beyond(self, at: LogOffset) -> LogOffset | None:
        end = self._log_end(at)
        return end if self._origin.is_beyond(end, at) else None

    def _lies_before(self, at: LogOffset, end: LogOffset) -> bool:
        return lies_before(at, end, mariadb=self._origin.dialect.mariadb)

    def _cut(self, first: LogOffset, last: LogOffset, max_bytes: int) -> LogOffset | None:
        if not self._origin.cuts(self._ends.known(first)) or self._origin.bytes_between(first, last) <= max_bytes:
            return None
        self._reading.take_over_missing(first)  # what is looked at here is what is planned
        with self._snapshot_due_where_lost():
            found = self._planner.cut(first, last, max_bytes)
        return None if found == last else self._origin.come_to(found)

    def _cut_snapshot(self, first: LogOffset, last: LogOffset, max_bytes: int) -> LogOffset | None:
        again = last.resnapshot is not None
        if again:
            self._planner.forget()
        with self._snapshot_due_where_lost():
            return self._snapshots.cut(first, last, max_bytes, again=again)

    def _before_planning(self, at: LogOffset) -> None:
        self._renewal.from_topic_once(at)

    def _snapshot_split(self, start: Offset, at: LogOffset) -> Split:
        return self._snapshots.whole(start, at)

    def _log_split(self, start: Offset, at: LogOffset) -> Split:
        tables = self._history.tables_at(at.position)
        self._tell_captured(tables)
        check_guardrail(self._config, self._filters.count(tables))
        check_topics(self._config, self._filters, tables)
        work = LogWork(tables, self._origin.dialect, self._run_id, ends=self._begun, tells_ends=self._tells_ends)
        return Split(start, None, work)

    def bounded(self, split: Split, end: Offset) -> Sequence[Split]:
        """The split up to `end`: who reads it here keeps the definitions that change on the way."""
        first, last = LogOffset.from_json(split.start), LogOffset.from_json(end)
        due = first.position.prefix < last.position.prefix or self._signals is not None
        return [replace(split, end=end)] if due else []

    def _plan_range(self, start: Offset, end: Offset, parallelism: int) -> list[Split]:
        first, last = LogOffset.from_json(start), LogOffset.from_json(end)
        if first.position.prefix >= last.position.prefix:
            return []
        self._snapshots.renew_history(first)  # a batch that was planned in an earlier run comes first
        self._history.fold(first.position)
        self._reading.take_over_missing(first)
        if self._context.counts.wanted or self._context.notices.wants_definitions:
            self._tell_captured(self._history.tables_at(first.position))
        if not self._topics_checked:
            check_topics(self._config, self._filters, self._history.tables_at(first.position))
            self._topics_checked = True
        with self._snapshot_due_where_lost():
            splits = self._planner.splits(start, end, self._origin.bytes_between(first, last), parallelism)
            self._planner.look_ahead(self._origin.bytes_between)
            return splits

    def _plan_chunks(self, start: Offset, end: Offset, parallelism: int) -> list[Split]:
        again = LogOffset.from_json(end).resnapshot is not None
        if again:
            self._planner.forget()
        with self._snapshot_due_where_lost():
            return self._snapshots.chunks(Split(start, end), parallelism, again=again)

    def _tell_captured(self, tables: Tables) -> None:
        """Which tables the log is read for, once, where somebody asks."""
        if self._captured_told:
            return
        self._captured_told = True
        notices = self._context.notices
        if self._context.counts.wanted:
            names = [str(table.id) for table in tables if self._filters.captures(*table.id)]
            notices.captured(data_collections=names)
        if notices.wants_definitions:
            tell_definitions((table for table in tables if self._filters.captures(*table.id)), notices)

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
            return self._told.snapshot(snapshot.batches(work), self._behind_snapshot)
        if isinstance(work, ChunkWork):
            return self._read_chunks(work, LogOffset.from_json(split.end or {}))
        if work.reader or self._context.state is None:
            return self._read_log(split)
        return self._told.log(self._read_log(split, self._signals))

    def _read_chunks(self, work: ChunkWork, point: LogOffset) -> Iterator[Batch]:
        versions = self._versions_of(work.dialect.rows, work.run_id)
        if work.told:
            made = SchemaChangeRecords(self._config, self._filters, versions)
            ends = not self._snapshots.reads_rows(LogOffset())
            for records in made.of_snapshot(work.told, point, ends=ends):
                yield Batch(records, None)
        if work.begun or work.ended:
            marker = TableMarker(self._filters, versions)
            yield Batch([], None, marks=list(marker.of_snapshot(point.position, work)))
        if work.chunks:
            notify = self._context.notices
            yield from read_chunks(self._config, self._filters, versions, work.chunks, point, notify, work.dialect)

    def _read_between(self, start: LogOffset, end: LogOffset, signalled: bool) -> Iterator[Batch]:
        tables, signals = self._history.tables_at(start.position), self._signals if signalled else None
        work = LogWork(tables, self._origin.dialect, self._run_id, here=True, ends=self._begun)
        return self._read_log(Split(start.to_json(), end.to_json(), work), signals, within=True)

    def _read_log(
        self, split: Split, signals: SnapshotServer | None = None, *, within: bool = False
    ) -> Iterator[Batch]:
        batches = self._reading.batches(split, self._heartbeats, signals, within=within)
        return self._followed(batches) if split.end is None else self._ranged(batches)

    def _followed(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches; they end where the server has the log no more and a snapshot may be taken for that."""
        try:
            yield from batches
        except PositionLostError as error:
            self._snapshots.lost(error)
        except RetriableSourceError:
            self._origin.close()  # it is as likely gone, and an answer that does not come would be waited for
            raise

    def besides(self) -> Sequence[Record]:
        """The heartbeat, when it is time for one, with what is to be done at the server then."""
        due = self._heartbeats.due()
        if due:
            self._heartbeat_action.run()
        return due

    def decoded(self, piece: Undecoded) -> Sequence[Record]:
        """The records of a rows event, with the table's definition at its place; where that does not fit, today's."""
        event, facts, definition = rows_of(piece)
        tables = self._history.tables_at(LogOffset.from_json(self._state.load_offset() or {}).position)
        if definition is None:
            return self._strict.again(event, facts, tables)
        then = tables.copy()
        then.put(definition)
        try:
            return self._strict.again(event, facts, then)
        except DecodeError as error:
            if not isinstance(error.__cause__, InconsistentSchemaError):
                raise
            return self._strict.again(event, facts, tables)

    @contextmanager
    def _snapshot_due_where_lost(self) -> Iterator[None]:
        with super()._snapshot_due_where_lost(), self._origin.faults():
            yield

    # -- lag and the state

    def readable(self) -> Sequence[str]:
        """The captured tables that the server has, but for that of signals; raises where there are only files."""
        return self._origin.readable(self._filters)

    def offset_before(self, time_ms: int) -> Offset:
        """By the times of commits in the log."""
        return self._origin.before(time_ms).to_json()

    def around(self, position: str) -> tuple[Offset, Offset] | None:
        """By the file and the place in it that the position begins with."""
        found = place_of_record(position)
        return None if found is None else tuple(at.to_json() for at in self._origin.around(*found))  # type: ignore[return-value]

    def begin_from(self, offset: Offset) -> None:
        """With the definitions of the server where the history has none, if none has changed since."""
        self._origin.begin_from(LogOffset.kept(offset), self._history, self._renewal)

    def example(self, table: str) -> TableExample:
        """By the definition that the server has now."""
        versions = self._versions_of(self._origin.dialect.rows)
        return TableMarker(self._filters, versions).example(self._origin.defined(table))

    def load(self, names: Collection[str]) -> Mapping[str, int]:
        """By `SHOW GLOBAL STATUS`."""
        return self._origin.load(names)

    def gone(self) -> Sequence[str]:
        """Those that the schema history names."""
        there = set(self.readable())
        names = (str(table) for table in self._history.names() if self._filters.captures(*table))
        return [name for name in names if name not in there]

    def unmatched(self) -> Sequence[Unmatched]:
        """Of the lists of databases and of tables."""
        return self._origin.unmatched()

    def lag_bytes(self, offset: Offset) -> int | None:
        """By the sizes of the log's files."""
        at = LogOffset.from_json(offset)
        if at.snapshot_due:
            return None
        try:
            return self._origin.lag_bytes(at)
        except CdcError:  # a wish to stop, too
            return None

    def retention(self, offset: Offset) -> Retention | None:
        """By the ages and sizes of the log's files."""
        return self._origin.retention(LogOffset.from_json(offset))

    def time_ms(self, offset: Offset) -> int | None:
        """To the second."""
        return LogOffset.from_json(offset).ts_sec * 1000 or None

    @cached_property
    def _history(self) -> SchemaHistory:
        return SchemaHistory(self._state, self._context.notices, self._renewal.topic)

    @cached_property
    def _planner(self) -> LogPlanner:
        return LogPlanner(
            self._config,
            self._filters,
            self._origin.dialect,
            self._history,
            self._context.notices,
            self._run_id,
            self._ends,
            self._epochs.above(self._origin.opener()),
            spool=None if self._context.spool is None or self.archived else Spool(self._context.spool),
            marks=self._context.marks,
            pace=Pace(self._context.bytes_per_second) if self._context.bytes_per_second else None,
            stays=not self.archived,
            farthest=self._origin.farthest,
            counting=self._strict.counting if self._reselection is None else None,
        )

    @cached_property
    def _reading(self) -> LogReading:
        return LogReading(
            self._config,
            self._filters,
            lambda: self._context,
            self._origin,
            self._history if self._context.state is not None else None,
            self._ends if self._context.state is not None else None,
            self._epochs if self._context.state is not None else None,
            self._versions_of,
            self._reselection,
            lambda: self._planner,
        )

    @cached_property
    def _strict(self) -> StrictProcessors:
        return StrictProcessors(
            self._config, self._filters, self._origin, lambda one: self._versions_of(one.rows), self._reselection
        )

    @cached_property
    def _heartbeats(self) -> Heartbeats:
        return heartbeats_of(self._config)

    @cached_property
    def _ends(self) -> RangeEnds:
        return RangeEnds(self._state)

    @cached_property
    def _epochs(self) -> Epochs:
        return Epochs(self._state)

    def _versions_of(self, rows: RowLogging, run_id: str | None = None) -> TableVersions:
        key = (rows, run_id or self._run_id)
        if key not in self._versions:
            self._versions = {key: TableVersions(self._config, self._filters, rows, run_id=key[1])}
        return self._versions[key]


def _origin_of(config: MySqlConfig) -> LogOrigin:
    return FilesOrigin(config) if config.binlog_files else ServerOrigin(config)
