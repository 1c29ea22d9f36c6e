"""Keeps the figures of one pipeline in step with its lifecycle hooks: a plugin like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cdckit.api.hookspecs import hookimpl
from cdckit.api.notification import Notification
from cdckit.api.record import Offset
from cdckit.api.source_counts import SourceCounts
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.incremental import take_notification
from cdckit.engine.metrics.snapshot_figures import now


class FiguresListener:
    """Listens for one pipeline; other pipelines of the process have their own.

    Args:
        figures: what is kept in step.
        changed: called after each notice.
    """

    def __init__(self, figures: Figures, changed: Callable[[], None]) -> None:
        self._figures = figures
        self._changed = changed

    @hookimpl
    def cdckit_started(self, pipeline: str, offset: Offset | None) -> None:
        """The pipeline goes on from `offset`; whatever another one of this process tells is left out here and below."""
        if pipeline == self._figures.pipeline:
            self._figures.state, self._figures.offset = "running", offset
            self._figures.timeline.add("started", f"started on the runner {self._figures.runner}")
            self._changed()

    @hookimpl
    def cdckit_activity(self, pipeline: str, activity: str) -> None:
        """Everything waits, or goes on."""
        if pipeline == self._figures.pipeline:
            self._figures.begin_activity(activity)

    @hookimpl
    def cdckit_batch_committed(
        self,
        pipeline: str,
        records: int,
        offset: Offset,
        log_time_ms: int | None,
        log_bytes: int,
        lag_bytes: int | None,
        lag_messages: int | None,
        counts: SourceCounts,
    ) -> None:
        """Events are safe in the sink."""
        if pipeline == self._figures.pipeline:
            before = self._figures.log_time
            self._figures.commit(records, offset, log_time_ms, log_bytes)
            still = not records and self._figures.log_time == before
            self._figures.lag(lag_bytes, lag_messages, still=still)
            self._figures.count(counts)
            self._changed()

    @hookimpl
    def cdckit_connection(self, pipeline: str, connected: bool, reason: str) -> None:
        """The source's connection stands, or is lost."""
        figures = self._figures
        if pipeline != figures.pipeline:
            return
        if connected and not figures.connected and figures.disconnects:
            figures.timeline.add("back", "the source is back")
        figures.connected = connected
        if connected:
            figures.source_away.end()
        else:
            figures.source_away.begin()
            figures.disconnects += 1
            figures.disconnected_by = reason
            figures.errors["RetriableSourceError"] += 1
            figures.timeline.add("lost", reason)
        self._changed()

    @hookimpl
    def cdckit_captured(self, pipeline: str, data_collections: Sequence[str]) -> None:
        """These tables are captured."""
        if pipeline == self._figures.pipeline:
            self._figures.captured = tuple(data_collections)

    @hookimpl
    def cdckit_unmatched(self, pipeline: str, entries: Sequence[str]) -> None:
        """These entries of the include lists match nothing."""
        if pipeline == self._figures.pipeline:
            self._figures.unmatched = tuple(entries)

    @hookimpl
    def cdckit_schema_history(self, pipeline: str, recovering: bool, changes: int, last: str | None) -> None:
        """The schema history is read."""
        history = self._figures.history
        if pipeline != self._figures.pipeline:
            return
        if recovering:
            history.status, history.recovery_began, history.recovered = "RECOVERING", now(), 0
        else:
            history.status, history.recovered_at = "RUNNING", now()
            history.recovered, history.last_recovered = changes, last
            history.applied = max(history.applied, changes)
        self._changed()

    @hookimpl
    def cdckit_schema_changed(self, pipeline: str, ddl: str, tables: Sequence[str]) -> None:
        """A definition has changed."""
        history = self._figures.history
        if pipeline == self._figures.pipeline:
            history.status, history.applied_at, history.last_applied = "RUNNING", now(), ddl
            history.applied += 1
            self._figures.timeline.schema_changed(ddl, tables)
            self._changed()

    @hookimpl
    def cdckit_snapshot_started(self, pipeline: str, data_collections: Mapping[str, int | None]) -> None:
        """A snapshot begins."""
        if pipeline == self._figures.pipeline:
            self._figures.snapshot.begin(data_collections)
            self._figures.timeline.add("snapshot", f"a snapshot of {len(data_collections)} tables began")
            self._changed()

    @hookimpl
    def cdckit_snapshot_locked(self, pipeline: str, locked: bool) -> None:
        """Writers are locked out, or not any more."""
        if pipeline == self._figures.pipeline:
            self._figures.snapshot.locked = locked
            self._changed()

    @hookimpl
    def cdckit_snapshot_progress(
        self, pipeline: str, data_collection: str, rows: int, estimate: int | None, finished: bool
    ) -> None:
        """Rows of a table were read."""
        if pipeline == self._figures.pipeline:
            self._figures.snapshot.read(data_collection, rows, estimate, finished=finished)
            self._changed()

    @hookimpl
    def cdckit_notification(self, pipeline: str, notification: Notification) -> None:
        """Something has happened to a snapshot beside the log."""
        if pipeline == self._figures.pipeline and notification.aggregate_type == "Incremental Snapshot":
            take_notification(self._figures.snapshot, notification)
            if notification.type in ("STARTED", "PAUSED", "RESUMED", "COMPLETED", "ABORTED"):
                self._figures.timeline.add("snapshot", f"incremental snapshot: {notification.type.lower()}")
            self._changed()

    @hookimpl
    def cdckit_snapshot_ended(self, pipeline: str, completed: bool) -> None:
        """A snapshot is over."""
        if pipeline == self._figures.pipeline:
            self._figures.snapshot.end(completed=completed)
            how = "is done" if completed else "was broken off"
            self._figures.timeline.add("snapshot", f"the snapshot {how}: {self._figures.snapshot.rows:,} rows")
            self._changed()

    @hookimpl
    def cdckit_stopped(self, pipeline: str, error: BaseException | None) -> None:
        """The run is over."""
        if pipeline == self._figures.pipeline:
            self._figures.stop(error)
            self._changed()
