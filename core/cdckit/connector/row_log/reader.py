"""Follows the log: asks for its next rows, listens to signals beside it, and tells that it is alive."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from cdckit.api.batch import Batch
from cdckit.api.record import Record
from cdckit.api.source import SourceContext
from cdckit.connector.heartbeat import Heartbeats
from cdckit.connector.incremental import Finished, SignalledSnapshots, TableMarks, Wanted
from cdckit.connector.notifications.notifications import Notifications
from cdckit.connector.notifications.snapshots import BlockingSnapshotNotices
from cdckit.connector.offset import NumberedOffset
from cdckit.connector.row_log.chunks import TableChunks
from cdckit.connector.row_log.database import Change, Database, Table
from cdckit.connector.row_log.lost import lost
from cdckit.connector.row_log.options import RowLogOptions
from cdckit.connector.row_log.records import INCREMENTAL, RowRecords
from cdckit.connector.signals.mailbox import Mailbox
from cdckit.connector.table_events import Row

_POLL = 0.05
"""How often, in seconds, a log that stands still is asked."""


class RowLogReader:
    """Batches of one stretch of the log.

    Args:
        config: the source's options.
        database: what is asked.
        records: makes records.
        tables: those of the log.
        context: the runner's.
        notifications: told of snapshots that signals ask for.
        mailbox: signals of other channels than the log; None where no signals are taken.
        heartbeats: the source's, which go on from one reader to the next.
    """

    def __init__(
        self,
        config: RowLogOptions,
        database: Database,
        records: RowRecords,
        tables: Mapping[str, Table],
        context: SourceContext,
        notifications: Notifications,
        mailbox: Mailbox | None,
        heartbeats: Heartbeats,
    ) -> None:
        self._config = config
        self._database = database
        self._records = records
        self._tables = tables
        self._captured = {name for name in tables if config.captures(name)}
        self._context = context
        self._notifications = notifications
        self._mailbox = mailbox
        self._signals: SignalledSnapshots[Row] | None = None
        self._idle = min(context.idle_seconds, config.poll_interval_ms / 1000)
        self._heartbeats = heartbeats

    def follow(self, start: NumberedOffset, end: NumberedOffset | None) -> Iterator[Batch]:
        """Batches from `start` on, to `end` or until it is asked to stop; what signals ask for is done before it ends.

        Raises:
            LogLostError: rows that were not read are gone from the log.
            RetriableSourceError: the database is away; reading may go on from the last batch's offset.
            SourceError: it refuses.
            DecodeError: a row of the log cannot be read.
        """
        self._at = start
        self._signals = self._listening(start)
        idle_at = time.monotonic() + self._idle
        while not self._context.stopping():
            if self._signals is not None:
                yield from self._signals.between(self._standing, self._blocking)
            last, changes = self._next(end)
            records = [record for change in changes for record in self._records_of(change)]
            done = end is not None and len(changes) < self._config.max_batch_size and not self._busy
            if changes or done or time.monotonic() >= idle_at:
                read = changes[-1].number if changes else self._at.number
                yield self._batch(records, changes, last if done else read)
                idle_at = time.monotonic() + self._idle
            if done:
                return
            if not changes:
                time.sleep(min(_POLL, self._idle))

    @property
    def _busy(self) -> bool:
        return self._signals is not None and self._signals.snapshot.busy

    def _next(self, end: NumberedOffset | None) -> tuple[int, Sequence[Change]]:
        """The next rows of the log, and up to where it was asked: marks of chunks may lie behind the end."""
        number = self._at.number
        last = self._database.log_bounds()[1] if end is None or self._busy else max(number, end.number)
        changes = self._database.changes(number, last, self._tables, self._config.max_batch_size)
        if (begin := self._database.log_bounds()[0]) > number:  # asked behind the rows, so that none went in between
            raise lost(self._config, number, begin)
        return last, changes

    def _batch(self, records: Sequence[Record], changes: Sequence[Change], number: int) -> Batch:
        left = self._at.incremental if self._signals is None else self._signals.left
        self._at = NumberedOffset(number=number, incremental=left)
        told = [*records, *self._notifications.take(), *self._heartbeats.due()]
        return Batch(told, self._at.to_json(), changes[-1].time_ms if changes else None)

    def _records_of(self, change: Change) -> list[Record]:
        table = self._tables[change.table]
        ended = [] if self._signals is None else self._chunk_ended(self._signals, table, change)
        return [*ended, *self._records.of_change(table, change)] if table.id in self._captured else ended

    # -- signals

    def _listening(self, start: NumberedOffset) -> SignalledSnapshots[Row] | None:
        """What listens to signals, where they come from anywhere."""
        if self._mailbox is None:
            return None
        config, marks = self._config, None
        if (place := self._tables.get(config.signal_data_collection)) is not None:
            quoted = self._database.quoted
            name, key = quoted(place.database, place.name), quoted(next(iter(place.columns)))
            marks = TableMarks(config, name, lambda: key, self._database.write, self._database.placeholder)
        chunks = TableChunks(config, self._database, self._tables)
        return SignalledSnapshots(config, chunks, marks, self._mailbox, self._notifications, start.incremental)

    def _chunk_ended(self, signals: SignalledSnapshots[Row], table: Table, change: Change) -> list[Record]:
        """The records of the chunk that a row of the log ends."""
        finished: Finished[Row] | None = None
        if table.id == self._config.signal_data_collection:
            if change.operation == "d" and change.before is not None:
                finished = signals.listener.deleted(change.before[0])
            elif change.operation == "c" and change.after is not None:
                finished = signals.listener.inserted(*(*change.after, None, None, None)[:3])
        elif signals.snapshot.reading == table.id:
            signals.snapshot.changed(table.key_of(row) for row in (change.before, change.after) if row is not None)
        if finished is None or not finished.rows:
            return []
        return self._records.found(self._tables[finished.name], finished.rows, change.number, way=INCREMENTAL)

    def _standing(self) -> Batch:
        return self._batch((), (), self._at.number)

    def _blocking(self, wanted: Sequence[Wanted]) -> Iterator[list[Record]]:
        """The rows of tables that the log waits for."""
        notices = BlockingSnapshotNotices(self._notifications, [one.name for one in wanted])
        notices.started()
        for part, one in enumerate(wanted):
            notices.begins(one.name)
            table, count = self._tables[one.name], 0
            for rows in self._database.portions(table, self._config.max_batch_size):
                yield self._records.found(table, rows, self._at.number, count, part)
                count += len(rows)
                notices.read(len(rows))
            notices.ends(one.name)
        notices.completed()
