"""The source `mongodb`: a snapshot of the captured collections, then the change stream."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial

from cdckit import (
    Batch,
    CdcError,
    ConfigError,
    ConnectOffset,
    Finding,
    HistoryRecord,
    Offset,
    Record,
    Retention,
    RetriableSourceError,
    RetrySchedule,
    SnapshotDueError,
    SourceError,
    Split,
    StateError,
    TableExample,
    Undecoded,
    Unmatched,
)
from cdckit.connector.guardrail import check_guardrail
from cdckit.connector.heartbeat import Heartbeats
from cdckit.connector.source import ConnectorSource
from cdckit.waiting import let_go
from cdckit_mongodb.captured_collections import captured_names
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.consolidation import OF_ALL_SHARDS, consolidated
from cdckit_mongodb.events.collection_events import Collections
from cdckit_mongodb.events.collection_marker import CollectionMarker
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.images import warn_of_missing_images
from cdckit_mongodb.offsets import FIRST_PLACE, StreamOffset
from cdckit_mongodb.server.connection import Client, Cluster, connect, driver_errors, end, read_cluster
from cdckit_mongodb.server.elections import Elections
from cdckit_mongodb.server.members import Members
from cdckit_mongodb.server.oplog import moment_behind, moment_told, newest_moment
from cdckit_mongodb.server.oplog_readiness import place_in_oplog
from cdckit_mongodb.server.oplog_window import retention
from cdckit_mongodb.server.readiness import readiness
from cdckit_mongodb.server.unmatched_lists import unmatched_entries
from cdckit_mongodb.server.versions import check_version
from cdckit_mongodb.snapshot.chunk_batches import ChunkBatches
from cdckit_mongodb.snapshot.chunks import read_chunks
from cdckit_mongodb.snapshot.modes import snapshot_mode
from cdckit_mongodb.snapshot.past import Past
from cdckit_mongodb.snapshot.whole import WholeSnapshot, note_moment
from cdckit_mongodb.splits import ChunkWork, SnapshotWork, StreamWork
from cdckit_mongodb.streaming.lost import HistoryLostError, unrecoverable, with_lost_time
from cdckit_mongodb.streaming.passed_over import records_of
from cdckit_mongodb.streaming.reader import StreamReader, heartbeats_of
from cdckit_mongodb.streaming.retention import why_lost
from cdckit_mongodb.time_series import warn_of_time_series
from cdckit_mongodb.tokens import check_token, is_event

log = logging.getLogger("cdckit.mongodb")

_MOMENT = re.compile("(?P<sec>[0-9A-F]{8})(?P<ord>[0-9A-F]{8})-")
"""What positions begin with."""

_LAST_IN_SECOND = 0xFFFFFFFE
"""Behind all operations of a second of the cluster's clock; the stream is asked for what comes one further."""


class MongoDbSource(ConnectorSource[MongoDbConfig, StreamOffset]):
    """Reads a replica set, or a sharded cluster through its routers."""

    lost_error = HistoryLostError
    end_polls = (0.025, 0.025)

    def __init__(self, config: MongoDbConfig) -> None:
        super().__init__(config, StreamOffset, snapshot_mode(config))
        self._filters = Filters(config)
        self._collections = Collections(config)
        self._client: Client | None = None
        self._members = Members()
        self._cluster: Cluster | None = None
        self._started = False
        self._captured_told = False
        self._repeats = False

    @classmethod
    def check(cls, config: MongoDbConfig) -> Sequence[Finding]:
        """Whether servers and user are fit, for `cdc validate --connect`."""
        return readiness(config)

    @classmethod
    def check_position(cls, config: MongoDbConfig, offset: Offset) -> Sequence[Finding]:
        """Whether the oplog still holds the place, and for how long."""
        return place_in_oplog(config, offset)

    @classmethod
    def check_retention(cls, config: MongoDbConfig, offset: Offset) -> Retention | None:
        """How long the oplog keeps an offset's place."""
        at = StreamOffset.from_json(offset)
        if not _has_place(at):
            return None
        with connect(config) as client, driver_errors(config, "asking for the oplog"):
            return retention(client, at)

    def close(self) -> None:
        """Lets the connections go."""
        if self._client is not None:
            let_go(partial(end, self._client))
            self._client = None
        super().close()

    def retry_schedule(self) -> RetrySchedule:
        """Rounds of `connect.max.attempts`, as many more as `errors.max.retries` says."""
        config = self._config
        return RetrySchedule(
            attempts=config.connect_max_attempts,
            first_wait=config.connect_backoff_initial_delay_ms / 1000,
            longest_wait=config.connect_backoff_max_delay_ms / 1000,
            restarts=config.errors_max_retries,
            restart_wait=config.retriable_restart_connector_wait_ms / 1000,
            at_start=True,
            options="connect.max.attempts, errors.max.retries",
        )

    def check_offset(self, offset: Offset) -> None:
        """It must tell a whole resume token or a cluster time, unless a snapshot is due."""
        at = StreamOffset.from_json(offset)
        if not (at.snapshot_due or at.token or at.sec):
            raise StateError("`resume_token`, or `sec` and `ord`, say where to go on: see `cdc offsets show`")
        if at.token is not None:
            check_token(at.token)

    def adopt(self, offsets: Sequence[ConnectOffset], history: Iterator[HistoryRecord] | None) -> Offset:
        """Where a Debezium connector stood; offsets of single shards, as before Debezium 2.6, by the oldest of them."""
        at = consolidated(offsets, self._config, self._asked)
        return at.with_changes(event_in_part=at.token is not None and is_event(at.token)).to_json()

    def connector_offset(self, connector: str, offset: Offset) -> ConnectOffset:
        """That of a place in the change stream."""
        partition = {"server_id": self._config.topic_prefix}
        return ConnectOffset(connector, partition, StreamOffset.kept(offset).for_connector())

    # -- planning

    def initial_offset(self) -> Offset:
        """Before a snapshot, be it one that reads no documents and only notes the place."""
        return StreamOffset(snapshot_due=True).to_json()

    def _begin(self) -> StreamOffset:
        """Where the stream starts when there is no offset."""
        start = self._config.capture_start_op_time
        if start >= 0 and not self._mode.takes_data(offset_exists=False, in_progress=False):
            newest = self._newest()
            if start >> 32 > newest[0]:
                raise ConfigError(
                    f"source.capture.start.op.time: {moment_told((start >> 32, start & 0xFFFFFFFF))} lies ahead of the "
                    f"newest operation, {moment_told(newest)}"
                )
            return StreamOffset(sec=start >> 32, ord=start & 0xFFFFFFFF)
        return note_moment(self._asked(), self._config)

    def _snapshot_point(self, at: StreamOffset) -> StreamOffset:
        begun = at if at.snapshot is not None else self._begin()  # what is deleted since then must be told
        return begun.behind_snapshot()

    def _log_end(self, at: StreamOffset) -> StreamOffset:
        return note_moment(self._asked(), self._config)

    def _end_beyond(self, at: StreamOffset) -> StreamOffset | None:
        return self._log_end(at) if self._newest() > at.moment else None

    def _lies_before(self, at: StreamOffset, end: StreamOffset) -> bool:
        return at.moment < end.moment

    def _newest(self) -> tuple[int, int]:
        """The newest operation that a majority of the members has."""
        with driver_errors(self._config, "asking for the newest operation"):
            return newest_moment(self._asked())

    def _cut(self, first: StreamOffset, last: StreamOffset, max_bytes: int) -> StreamOffset | None:
        """The moment of an operation, where the user may read the oplog; a transaction's changes share theirs."""
        with driver_errors(self._config, "looking for the end of a batch"):
            found = moment_behind(self._asked(), first.moment, max_bytes)
        return None if found is None or found >= last.moment else StreamOffset(*found, complete=True)

    def _before_planning(self, at: StreamOffset) -> None:
        self._tell_captured()

    def _snapshot_split(self, start: Offset, at: StreamOffset) -> Split:
        return Split(at.to_json(), at.to_json(), SnapshotWork(with_documents=self._reads_documents(at)))

    def _log_split(self, start: Offset, at: StreamOffset) -> Split:
        return Split(start, None, StreamWork())

    def _plan_range(self, start: Offset, end: Offset, parallelism: int) -> list[Split]:
        return [Split(start, end, StreamWork(group, closed=True)) for group in self._config.groups]

    def bounded(self, split: Split, end: Offset) -> Sequence[Split]:
        """The split up to `end`, in one stream; where signals are taken, it is read even if nothing has come."""
        return [] if self._mailbox is None and split.start == end else [replace(split, end=end)]

    def _plan_chunks(self, start: Offset, end: Offset, parallelism: int) -> list[Split]:
        first, last = StreamOffset.from_json(start), StreamOffset.from_json(end)
        if last.resnapshot is None and not self._reads_documents(first):
            return []
        with self._snapshot_due_where_lost():
            self._require_moment(first, last)
        for name in self._batches.names(end):
            self._collections.taken(*name)
        return self._batches.between(start, end, self._context, parallelism)

    def _cut_snapshot(self, first: StreamOffset, last: StreamOffset, max_bytes: int) -> StreamOffset | None:
        if last.resnapshot is None and not self._reads_documents(first):
            return None
        with self._snapshot_due_where_lost():
            self._require_moment(first, last)
        return self._batches.cut(first, last, self._context, max_bytes)

    def _require_moment(self, first: StreamOffset, last: StreamOffset) -> None:
        """Looks whether the stream can be read from the moment of a snapshot that is read in batches.

        Raises:
            SnapshotDueError: it cannot, and the snapshot begins anew.
            HistoryLostError: it cannot, and collections were to be read again alone.
        """
        if first.reached(last) is None:
            return
        error = why_lost(self._asked(), self._config, first)
        if error is not None and last.resnapshot is None:
            self._started = False
            raise SnapshotDueError(
                f"{with_lost_time(self._asked(), error)}: the snapshot begins anew (a query of your own needs a new "
                "checkpoint and a new state for that)"
            )
        if error is not None:
            raise error

    def _start(self, at: StreamOffset) -> StreamOffset:
        """`at`, or a new beginning where a snapshot is to be taken instead of going on from it.

        Raises:
            SourceError: the place is gone from the oplog.
        """
        if self._started:
            return at
        self._asked()  # while the servers are away nothing is decided
        self._started = True
        if self._context.starts:
            warn_of_missing_images(self._asked(), self._config, self._filters)
            warn_of_time_series(self._asked(), self._config, self._filters)
        if at.snapshot is not None:
            log.warning("the last snapshot was not finished: it goes on in %s", at.snapshot.collection)
        again = self._context.starts and self._mode.takes_data(offset_exists=True, in_progress=False)
        if again and not at.snapshot_due:
            self._repeats = True
            log.info("a new snapshot is taken, in the place of going on (snapshot.mode=%s)", self._config.snapshot_mode)
            return StreamOffset(snapshot_due=True)
        if at.snapshot_due and at.snapshot is None:
            return at
        error = why_lost(self._asked(), self._config, at)
        begun = at.snapshot is not None and at.resnapshot is None
        if error is not None:
            return self._anew(error, begun=begun)
        if self._context.starts and not at.snapshot_due:
            log.info("the change stream is read from %d:%d on", *at.moment)
        return at

    def _anew(self, error: HistoryLostError, *, begun: bool = False) -> StreamOffset:
        """The beginning of a new snapshot, which has its place in the stream already.

        Args:
            error: why.
            begun: whether it replaces one that was not finished.

        Raises:
            SourceError: none is to be taken for that.
        """
        if not (begun or self._mode.on_data_error):
            raise unrecoverable(self._asked(), error) from error
        reason = with_lost_time(self._asked(), error)
        log.warning("%s: a new snapshot is taken (snapshot.mode=%s)", reason, self._config.snapshot_mode)
        return note_moment(self._asked(), self._config).with_changes(snapshot_due=True, snapshot=FIRST_PLACE)

    def _reads_documents(self, at: StreamOffset) -> bool:
        """Whether a snapshot reads documents: one that was begun, or stands in for going on in the stream, does."""
        decided = self._repeats or not at.snapshot_due or at.snapshot is not None
        return decided or self._mode.takes_data(offset_exists=False, in_progress=False)

    # -- reading

    def read(self, split: Split) -> Iterator[Batch]:
        """The split's batches."""
        start = StreamOffset.from_json(split.start)
        if isinstance(split.payload, SnapshotWork):
            snapshot = WholeSnapshot(self._asked(), self._config, self._filters, self._collections, self._context)
            if split.payload.with_documents:
                return self._told.snapshot(snapshot.batches(start), self._behind_snapshot)
            begin = Batch([], self._begin().to_json(), time.time_ns() // 1_000_000)
            return self._told.snapshot(iter([begin]), self._behind_snapshot)
        if isinstance(split.payload, ChunkWork):
            return self._read_chunks(split.payload, StreamOffset.from_json(split.end or {}))
        group = split.payload.group
        reader = StreamReader(
            self._asked(),
            self._config,
            self._filters if group is None else Filters(self._config, group),
            self._collections,
            self._context,
            self._notifications,
            self._mailbox,
            group,
            self._marker if self._context.marks else None,
        )
        end = None if split.end is None else StreamOffset.from_json(split.end)
        batches = (
            self._following(reader, start)
            if end is None
            else self._ranged(reader.range(start, end, closed=split.payload.closed))
        )
        return batches if self._context.state is None else self._told.log(batches)

    def decoded(self, piece: Undecoded) -> Sequence[Record]:
        """The records of a change event, outside of its transaction's block."""
        self._asked()
        return records_of(piece, self._filters, self._collections)

    def _read_chunks(self, work: ChunkWork, moment: StreamOffset) -> Iterator[Batch]:
        if work.begun or work.ended:
            yield Batch([], None, marks=list(self._marker.of_snapshot(work, moment.moment)))
        client, notify = self._asked(), self._context.notices
        yield from read_chunks(client, self._config, self._collections, work.chunks, moment, notify)

    def as_it_was(self, start: Offset, at: Offset) -> Iterator[tuple[Batch, bool]]:
        """By `atClusterTime`."""
        place = StreamOffset.from_json(at)
        # Behind an event all of its moment is there; a token between events stands before its moment's.
        whole = place.token is not None and is_event(place.token)
        moment = place.time if whole else place.moment
        end = note_moment(self._asked(), self._config)
        past = Past(self._asked(), self._config, self._filters, self._collections, self._marker)
        return past.read(StreamOffset.from_json(start), moment, end)

    @cached_property
    def _batches(self) -> ChunkBatches:
        return ChunkBatches(self._config, self._filters, self._asked)

    @cached_property
    def _marker(self) -> CollectionMarker:
        return CollectionMarker(self._collections, lambda: captured_names(self._asked(), self._config, self._filters))

    def besides(self) -> Sequence[Record]:
        """The heartbeat, when it is time for one."""
        return self._heartbeats.due()

    @cached_property
    def _heartbeats(self) -> Heartbeats:
        return heartbeats_of(self._config, self._collections)

    def _following(self, reader: StreamReader, start: StreamOffset) -> Iterator[Batch]:
        """Ends, with an offset before a snapshot, where the place was lost and one is to be taken."""
        try:
            yield from reader.follow(start, self._heartbeats)
        except HistoryLostError as error:
            yield Batch([], self._anew(error).to_json())

    def _lost(self, error: SourceError) -> str:
        assert isinstance(error, HistoryLostError)
        if not self._mode.on_data_error:
            raise unrecoverable(self._asked(), error) from error
        self._started = False
        return with_lost_time(self._asked(), error)

    def _tell_captured(self) -> None:
        """Which collections there are to capture, once, where somebody asks, there is a limit, or several read them."""
        several = len(self._config.groups) > 1
        asked = self._context.counts.wanted or self._context.notices.wants_definitions
        wanted = asked or self._config.guardrail_collections_max or several
        if wanted and not self._captured_told:
            with driver_errors(self._config, "asking for the captured collections"):
                found = list(captured_names(self._asked(), self._config, self._filters))
            names = [".".join(name) for name in found]
            for name in found:
                self._collections.taken(*name)
            self._captured_told = True
            check_guardrail(self._config, len(names))
            self._context.notices.captured(data_collections=names)

    # -- the servers

    def readable(self) -> Sequence[str]:
        """The captured collections that there are."""
        with driver_errors(self._config, "asking for the captured collections"):
            return [".".join(name) for name in captured_names(self._asked(), self._config, self._filters)]

    def offset_before(self, time_ms: int) -> Offset:
        """By the cluster's clock, to the second."""
        end = note_moment(self._asked(), self._config)
        at = StreamOffset(max(1, time_ms // 1000) - 1, _LAST_IN_SECOND, complete=True)
        return (at if at.moment < end.moment else end).to_json()

    def around(self, position: str) -> tuple[Offset, Offset] | None:
        """The cluster time that it begins with, and the one before."""
        if (found := _MOMENT.match(position)) is None:
            return None
        sec, order = int(found["sec"], 16), int(found["ord"], 16)
        before = StreamOffset(sec, order - 1, complete=True) if order else StreamOffset(sec - 1, _LAST_IN_SECOND)
        return before.to_json(), StreamOffset(sec, order, complete=True).to_json()

    def begin_from(self, offset: Offset) -> None:
        """The oplog must reach back to it."""
        error = why_lost(self._asked(), self._config, StreamOffset.kept(offset))
        if error is not None:
            raise unrecoverable(self._asked(), error) from error

    def example(self, table: str) -> TableExample:
        """Two documents that have an `_id` and nothing else."""
        return self._marker.example(table)

    def unmatched(self) -> Sequence[Unmatched]:
        """Of the lists of databases and of collections."""
        with driver_errors(self._config, "asking for the collections"):
            return list(unmatched_entries(self._asked(), self._config))

    def lag_bytes(self, offset: Offset) -> int | None:
        """0 where nothing lies behind but the rest of a transaction; how many bytes do, the server does not tell."""
        at = StreamOffset.from_json(offset)
        away = self._client is not None and not self._client.topology_description.has_writable_server()
        if at.snapshot_due or away:
            return None
        try:
            return 0 if self._newest() <= at.time else None
        except CdcError:  # a wish to stop, too
            return None

    def retention(self, offset: Offset) -> Retention | None:
        """By the oplog's window, where the user may read it; not known while no primary is there."""
        at = StreamOffset.from_json(offset)
        client = self._client
        if client is None or not _has_place(at) or not client.topology_description.has_writable_server():
            return None
        try:
            with driver_errors(self._config, "asking for the oplog"):
                return retention(client, at)
        except CdcError:
            return None

    def time_ms(self, offset: Offset) -> int | None:
        """To the second."""
        return StreamOffset.from_json(offset).sec * 1000 or None

    def _asked(self) -> Client:
        """The client, once there is a primary and the servers are known to be fit.

        Raises:
            RetriableSourceError: no primary can be reached now.
            SourceError: they refuse, are no replica set, or another one.
        """
        if self._client is None:
            self._client = connect(self._config, Elections(self._context.counts), self._members)
        try:
            self._members.await_primary(self._client, self._config, self._context.stopping)
            if self._cluster is None:
                cluster = read_cluster(self._client, self._config)
                check_version(self._config, cluster.version)
                self._cluster = cluster
                self._collections.format.replica_set = cluster.name or OF_ALL_SHARDS
        except RetriableSourceError as error:
            if self._cluster is not None:
                raise
            raise RetriableSourceError(f"{error}; check mongodb.connection.string") from error
        return self._client


def _has_place(at: StreamOffset) -> bool:
    """Whether the oplog must hold something for this offset; for a snapshot that has begun it must, too."""
    return bool(at.sec) and (at.snapshot_begun or not at.snapshot_due)
