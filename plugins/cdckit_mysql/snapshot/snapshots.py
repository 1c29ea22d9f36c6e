"""Plans the snapshots of a source: whether one is due, and its splits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from cdckit import (
    HistoryRecord,
    Offset,
    SnapshotMode,
    SourceContext,
    SourceError,
    Split,
    StateError,
    StateStore,
)
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.schema_history.renewal import HistoryRenewal
from cdckit_mysql.server.asked_server import AskedServer
from cdckit_mysql.snapshot.chunk_splits import ChunkSplits
from cdckit_mysql.snapshot.consistent import note_point, pause
from cdckit_mysql.snapshot.snapshot_decision import SnapshotNeed
from cdckit_mysql.snapshot.snapshot_tables import goes_on
from cdckit_mysql.splits import SnapshotWork
from cdckit_mysql.streaming.log_beginnings import LogBeginnings
from cdckit_mysql.takeover.offset import offset_of_connector

log = logging.getLogger("cdckit.mysql")


class Snapshots(Protocol):
    """Plans for one source."""

    def open(self, context: SourceContext) -> None:
        """Takes the runner's context."""

    @property
    def begins(self) -> bool:
        """Whether a pipeline that has never run begins with a snapshot."""

    def start(self, at: LogOffset) -> LogOffset:
        """`at`, or a new beginning where a snapshot is to be taken instead of going on from it.

        Raises:
            SourceError: the place is gone from the log, or no snapshot can be taken that is due.
        """

    def lost(self, error: SourceError) -> str:
        """Takes note that the log is lost, so that the next start is a snapshot; gives the reason, for people.

        Raises:
            SourceError: none is to be taken for that.
        """

    def renew_history(self, at: LogOffset) -> None:
        """Makes the schema history anew where the mode says so; once a run, unless `start` has.

        Raises:
            SourceError: definitions have changed since.
        """

    def reads_rows(self, at: LogOffset) -> bool:
        """Whether the snapshot that is due at `at` reads rows, or definitions alone."""

    def point(self, at: LogOffset) -> LogOffset:
        """The point in the log that the chunks of a snapshot which is due at `at` must be followed from."""

    def whole(self, start: Offset, at: LogOffset) -> Split:
        """The whole snapshot that is due at `at`."""

    def cut(self, first: LogOffset, last: LogOffset, max_bytes: int, *, again: bool) -> LogOffset | None:
        """A place within a snapshot's chunks, with about `max_bytes` of its tables before it; None where less is left.

        Args:
            first: where it is due, or has come to.
            last: the point that the log goes on from.
            max_bytes: how much is wanted, unless the options tell how many rows.
            again: whether it reads tables again.
        """

    def chunks(self, whole: Split, parallelism: int, *, again: bool) -> list[Split]:
        """The chunks of a snapshot which the log completes, or of a part of it.

        Args:
            whole: from where it is due, or has come to, to the point that the log goes on from, or a place before that.
            parallelism: how many of them may be read at the same time.
            again: whether it reads tables again.
        """

    def adopt(self, offset: Offset, history: Iterator[HistoryRecord] | None) -> LogOffset:
        """Where a Debezium connector stood, with the definitions of its schema history, or those of the server."""


class ServerSnapshots:
    """The snapshots of a server's tables.

    Args:
        config: the source's options.
        filters: what is captured.
        mode: what `snapshot.mode` says.
        asked: the server.
        renewal: makes the schema history anew.
        history: gives the history.
        run_id: the run's id in the records' headers.
    """

    def __init__(
        self,
        config: MySqlConfig,
        filters: Filters,
        mode: SnapshotMode,
        asked: AskedServer,
        renewal: HistoryRenewal,
        history: Callable[[], SchemaHistory],
        run_id: str,
    ) -> None:
        self._config = config
        self._filters = filters
        self._asked = asked
        self._renewal = renewal
        self._history = history
        self._context = SourceContext(config.topic_prefix)
        self._chunks = ChunkSplits(config, filters, asked, run_id, goes_on=mode.streams)
        self._need = SnapshotNeed(config, mode, asked.ready, renewal, self._beginnings)

    def open(self, context: SourceContext) -> None:
        """Takes the runner's context."""
        self._context = context
        self._need.started = not context.starts

    @property
    def begins(self) -> bool:
        """See `Snapshots`."""
        return self._need.begins

    def start(self, at: LogOffset) -> LogOffset:
        """See `Snapshots`."""
        state = self._context.state
        if at.snapshot_begun and state is not None and not goes_on(state, at):
            anew = LogOffset(snapshot=SNAPSHOT_RUNNING, epoch=at.epoch)
            # The time tells the next attempt from this one where the log has not gone on.
            later = max(int(time.time()), at.ts_sec + 1)
            at = anew if at.resnapshot is None else at.without_snapshot().with_changes(ts_sec=later)
        return self._need.start(at)

    def lost(self, error: SourceError) -> str:
        """See `Snapshots`."""
        self._need.lost(str(error))
        return str(error)

    def renew_history(self, at: LogOffset) -> None:
        """See `Snapshots`."""
        if not self._need.started:
            self._need.renew_history(at)

    def reads_rows(self, at: LogOffset) -> bool:
        """See `Snapshots`."""
        return self._need.reads_rows(at)

    def point(self, at: LogOffset) -> LogOffset:
        """See `Snapshots`."""
        pause(self._context, self._config.snapshot_delay_ms)
        point = self._need.unfinished(at)
        if point is not None and at.snapshot_begun:
            return point.behind_snapshot()
        if point is None:
            point = note_point(self._config, self._filters, self._history(), at.epoch)
            self._chunks.note(point)
        return point.with_changes(after_snapshot=True, snapshot_chunks="")

    def whole(self, start: Offset, at: LogOffset) -> Split:
        """See `Snapshots`."""
        rows = self._need.reads_rows(at)
        if at.snapshot_begun and at.cursor is not None:
            log.warning(
                "a snapshot had come to %s on Spark: here its tables are read anew, behind what came since",
                at.cursor.table,
            )
        return Split(start, start, SnapshotWork(at.epoch, rows, self._need.unfinished(at), at.resnapshot))

    def cut(self, first: LogOffset, last: LogOffset, max_bytes: int, *, again: bool) -> LogOffset | None:
        """See `Snapshots`."""
        if not (again or self._need.reads_rows(first)):
            return None
        return self._chunks.cut(first, last, self._history(), self._context, self._state, max_bytes)

    def chunks(self, whole: Split, parallelism: int, *, again: bool) -> list[Split]:
        """See `Snapshots`."""
        with_rows = again or self._need.reads_rows(LogOffset.from_json(whole.start))
        parts = (whole, self._history(), self._context, self._state, parallelism)
        return self._chunks.between(*parts, with_rows=with_rows)

    @property
    def _state(self) -> StateStore:
        if self._context.state is None:
            raise StateError("planning needs the pipeline's state")
        return self._context.state

    def adopt(self, offset: Offset, history: Iterator[HistoryRecord] | None) -> LogOffset:
        """See `Snapshots`."""
        at = offset_of_connector(offset, self._asked, self._config)
        if history is None:
            self._renewal.from_server(at)
        else:
            self._renewal.from_records(history, at)
        return at

    def _beginnings(self) -> LogBeginnings | None:
        return LogBeginnings(self._config, self._context.state) if self._context.state is not None else None
