"""The snapshot at one consistent point, and what a snapshot that was stopped has left to do."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from typing import Any

from cdckit import Batch, SourceContext, StateStore
from cdckit.connector.resnapshot import Resnapshot
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset
from cdckit_mysql.schema_changes.records import SchemaChangeRecords
from cdckit_mysql.schema_changes.snapshot import snapshot_events
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.connection import driver_errors, place
from cdckit_mysql.server.facts import RowLogging
from cdckit_mysql.snapshot.consistent_point import ConsistentPoint, consistent_point
from cdckit_mysql.snapshot.modes import snapshot_mode
from cdckit_mysql.snapshot.snapshot_rows import SnapshotRows
from cdckit_mysql.splits import SnapshotWork
from cdckit_mysql.streaming.epochs import Epochs
from cdckit_mysql.streaming.opening import on_server, require_log

log = logging.getLogger("cdckit.mysql")


def note_point(config: MySqlConfig, filters: Filters, history: SchemaHistory, epoch: int) -> LogOffset:
    """Takes a consistent point for its position and definitions alone; chunks are read after it.

    Raises:
        SourceError: the server refuses.
    """
    with consistent_point(config, filters) as point:
        return _noted(point, config, history, epoch).with_changes(after_snapshot=True)


def _noted(point: ConsistentPoint, config: MySqlConfig, history: SchemaHistory, epoch: int) -> LogOffset:
    """The point's offset, once its definitions are durable."""
    offset = point.offset.with_changes(epoch=epoch, ts_sec=int(time.time()))
    if snapshot_mode(config).streams:
        require_log(config, offset)
    history.start(offset.position, point.tables, point.created, offset)
    log.info("snapshot at %s, with the definitions of %d tables", offset.position, len(point.tables))
    return offset


class ConsistentSnapshot:
    """Reads the snapshot of one source.

    Args:
        config: the source's options.
        filters: what is captured.
        context: the runner's.
        state: where the plan is kept.
        history: where the definitions are noted, before the first row is given out.
        versions_of: gives the versions of tables for how a server shows rows.
        read_log: reads the log between two offsets; and whether signals are taken on the way.
    """

    def __init__(
        self,
        config: MySqlConfig,
        filters: Filters,
        context: SourceContext,
        state: StateStore,
        history: SchemaHistory,
        versions_of: Callable[[RowLogging], TableVersions],
        read_log: Callable[[LogOffset, LogOffset, bool], Iterator[Batch]],
    ) -> None:
        self._config = config
        self._filters = filters
        self._context = context
        self._state = state
        self._history = history
        self._versions_of = versions_of
        self._read_log = read_log

    def batches(self, work: SnapshotWork) -> Iterator[Batch]:
        """The snapshot's batches; only the last one's offset lies behind it.

        After a snapshot that was not finished come first the changes since, then what it has not read yet: what was
        given out then and the changes together are as if it had been read now.

        Raises:
            RetriableSourceError: the connection was lost; the snapshot goes on from its last offset.
            SourceError: the server refuses.
        """
        pause(self._context, self._config.snapshot_delay_ms)
        if self._context.stopping():
            return
        threads = self._config.snapshot_max_threads if work.with_rows else 1
        with consistent_point(self._config, self._filters, threads, self._context.notices) as point:
            since = work.since and on_server(work.since, point.server, place(self._config))
            begun = point.offset.with_changes(epoch=since.epoch if since else work.epoch)
            offset = _noted(point, self._config, self._history, Epochs(self._state).behind_last(begun).epoch)
            if since is not None:
                left = yield from self._changes(since, offset, work.again)
                offset = offset.with_changes(incremental=left, resnapshot=work.again)
            if work.again is None:
                yield from self._definitions(point, offset, with_rows=work.with_rows)
            if work.with_rows:
                yield from self._rows(point, offset, since)
        pause(self._context, self._config.streaming_delay_ms)
        if not self._context.stopping():
            done = offset.with_changes(resnapshot=work.again and work.again.finished())
            yield Batch([], done.to_json(), time.time_ns() // 1_000_000, save=True)

    def _changes(
        self, since: LogOffset, until: LogOffset, again: Resnapshot | None
    ) -> Generator[Batch, None, Mapping[str, Any] | None]:
        """The changes in between; gives what incremental snapshots have left to do behind them."""
        unfinished = {"snapshot": SNAPSHOT_RUNNING, "snapshot_chunks": since.snapshot_chunks, "resnapshot": again}
        left = since.incremental
        for batch in self._read_log(since, until, again is not None):
            if batch.offset is None:
                yield batch
                continue
            reached = LogOffset.from_json(batch.offset)
            left = reached.incremental
            yield replace(batch, offset=reached.with_changes(**unfinished).to_json())
        return left

    def _definitions(self, point: ConsistentPoint, offset: LogOffset, *, with_rows: bool) -> Iterator[Batch]:
        """What the schema-change topic is told; the snapshot's own progress stays as it is."""
        if point.created is None or not self._config.include_schema_changes:
            return
        made = SchemaChangeRecords(self._config, self._filters, self._versions_of(point.server.rows))
        events = list(snapshot_events(point.tables, point.created))
        for records in made.of_snapshot(events, offset, ends=not with_rows):
            yield Batch(records, None)

    def _rows(self, point: ConsistentPoint, offset: LogOffset, since: LogOffset | None) -> Iterator[Batch]:
        reader = SnapshotRows(self._config, self._filters, self._context, self._versions_of(point.server.rows))
        with driver_errors(self._config, "planning the snapshot"):
            reader.plan(point, self._state, offset, since.snapshot_chunks if since else "", offset.only)
        unfinished = offset.with_changes(snapshot=SNAPSHOT_RUNNING)
        yield Batch([], unfinished.with_changes(snapshot_chunks=reader.progress).to_json(), save=True)
        for records in reader.records(point, offset):
            if self._context.stopping():
                return
            done = unfinished.with_changes(snapshot_chunks=reader.progress).to_json()
            yield Batch(records, done, repeats=reader.in_a_part)
        self._context.notices.snapshot_ended(completed=True)


def pause(context: SourceContext, milliseconds: int) -> None:
    """Waits, or until the pipeline is to stop."""
    until = time.monotonic() + milliseconds / 1000
    while time.monotonic() < until and not context.stopping():
        time.sleep(min(0.1, max(0.0, until - time.monotonic())))
