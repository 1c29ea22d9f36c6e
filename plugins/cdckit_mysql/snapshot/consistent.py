"""The snapshot at one consistent point: every captured table, one after the other, through one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from cdckit.record import Batch, Record
from cdckit.snapshot_progress import SnapshotProgress
from cdckit.source import SourceContext
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.connection import place, told
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.history import SchemaHistory
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset
from cdckit_mysql.rows import open_rows
from cdckit_mysql.server import RowLogging
from cdckit_mysql.snapshot.consistent_point import ConsistentPoint, consistent_point
from cdckit_mysql.snapshot.marked_rows import MarkedRows, RowChunk
from cdckit_mysql.snapshot.selection import ChosenTable, choose_tables
from cdckit_mysql.splits import SnapshotWork
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
    if config.snapshot_mode != "initial_only":
        require_log(config, offset)
    history.start(offset.position, point.tables)
    log.info("snapshot at %s, with the definitions of %d tables", offset.position, len(point.tables))
    return offset


class ConsistentSnapshot:
    """Reads the snapshot of one source.

    Args:
        config: the source's options.
        filters: what is captured.
        context: the runner's.
        history: where the definitions are noted, before the first row is given out.
        versions_of: gives the versions of tables for how a server shows rows.
        read_log: reads the log between two offsets.
    """

    def __init__(
        self,
        config: MySqlConfig,
        filters: Filters,
        context: SourceContext,
        history: SchemaHistory,
        versions_of: Callable[[RowLogging], TableVersions],
        read_log: Callable[[LogOffset, LogOffset], Iterator[Batch]],
    ) -> None:
        self._config = config
        self._filters = filters
        self._context = context
        self._history = history
        self._versions_of = versions_of
        self._read_log = read_log

    def batches(self, work: SnapshotWork) -> Iterator[Batch]:
        """The snapshot's batches; only the last one's offset lies behind it.

        After a snapshot that was not finished come first the changes since: a row that was given out then and has been
        deleted in between is in no snapshot any more.

        Raises:
            RetriableSourceError: the connection was lost; the snapshot must start again.
            SourceError: the server refuses.
        """
        self._pause(self._config.snapshot_delay_ms)
        with consistent_point(self._config, self._filters) as point:
            since = work.since and on_server(work.since, point.server, place(self._config))
            offset = _noted(point, self._config, self._history, since.epoch if since else work.epoch)
            unfinished = offset.with_changes(snapshot=SNAPSHOT_RUNNING).to_json()
            if since is not None:
                yield from self._changes(since, offset)
            if work.with_rows:
                yield Batch([], unfinished, save=True)
                for records in self._records(point, offset):
                    if self._context.stopping():
                        return
                    yield Batch(records, unfinished)
        self._pause(self._config.streaming_delay_ms)
        yield Batch([], offset.to_json(), time.time_ns() // 1_000_000)

    def _changes(self, since: LogOffset, until: LogOffset) -> Iterator[Batch]:
        for batch in self._read_log(since, until):
            reached = LogOffset.from_json(batch.offset or {})
            yield replace(batch, offset=reached.with_changes(snapshot=SNAPSHOT_RUNNING).to_json())

    def _records(self, point: ConsistentPoint, offset: LogOffset) -> Iterator[list[Record]]:
        versions = self._versions_of(point.server.rows)
        with told(self._config, "choosing the snapshot's tables"):
            chosen = choose_tables(point.connection, point.tables, versions, self._config, self._filters)
        marked = MarkedRows(versions.blocks, offset, time.time_ns() // 1_000_000_000 * 1_000_000)
        return marked.records(chunk for table in chosen for chunk in self._chunks(point, table))

    def _chunks(self, point: ConsistentPoint, table: ChosenTable) -> Iterator[RowChunk]:
        progress = SnapshotProgress(self._context.notify, str(table.id), table.estimate)
        values = [value for _, value in table.version.shown]
        with told(self._config, f"reading {table.id}"), open_rows(point.connection, table.select(), values) as chunks:
            for rows in chunks:
                yield RowChunk(table.version, rows, first=progress.rows == 0)
                progress.read(len(rows))
        progress.finished()

    def _pause(self, milliseconds: int) -> None:
        until = time.monotonic() + milliseconds / 1000
        while time.monotonic() < until and not self._context.stopping():
            time.sleep(min(0.1, max(0.0, until - time.monotonic())))
