"""What is known of one pipeline that runs: the figures behind its metrics and its status."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cdckit.api.record import Offset
from cdckit.api.sink import QueueFill
from cdckit.api.source_counts import SourceCounts
from cdckit.engine.metrics.absence import Absence
from cdckit.engine.metrics.fault_counts import FaultCounts
from cdckit.engine.metrics.forecast import Forecast
from cdckit.engine.metrics.pace import Pace
from cdckit.engine.metrics.run_place import RunPlace
from cdckit.engine.metrics.snapshot_figures import SnapshotFigures, now
from cdckit.engine.metrics.table_changes import TableChanges
from cdckit.engine.metrics.timeline import Timeline
from cdckit.errors import CdcError, number_of

RATE_SECONDS = 10.0
"""Over how long events a second are counted."""
_COMMITS_KEPT = 256
_COMMIT_SECONDS = RATE_SECONDS / _COMMITS_KEPT
"""Commits that follow each other as closely are kept as one."""

HistoryStatus = Literal["STOPPED", "RECOVERING", "RUNNING"]
"""What Debezium's metric `Status` of the schema history may say."""


def rate(commits: Iterable[tuple[float, int]], started: float, at: float) -> float:
    """Records a second over the last seconds before `at`, or since the start where that is less; at least one second.

    Args:
        commits: when records were delivered, and how many.
        started: when the run began.
        at: now, or when `commits` were told.
    """
    elapsed = min(RATE_SECONDS, max(1.0, at - started))
    return sum(records for when, records in commits if when > at - elapsed) / elapsed


def _no_queue() -> QueueFill | None:
    return None


def _nothing() -> None:
    return


@dataclass(slots=True)
class HistoryFigures:
    """The schema history. Times are in seconds since 1970.

    Attributes:
        status: as Debezium calls it.
        recovery_began: when it was last read, or None.
        recovered: how many changes were read then.
        recovered_at: when the last of them was.
        last_recovered: the position of that one.
        applied: how many changes were read, or met in the log.
        applied_at: when the last one was met.
        last_applied: its statement.
    """

    status: HistoryStatus = "STOPPED"
    recovery_began: float | None = None
    recovered: int = 0
    recovered_at: float | None = None
    last_recovered: str | None = None
    applied: int = 0
    applied_at: float | None = None
    last_applied: str | None = None


@dataclass(slots=True)
class Figures:
    """All figures of one run of a pipeline. Written by one thread at a time, read by any.

    Attributes:
        pipeline: its name.
        source: the source's type.
        server: the source's `topic.prefix`, or the pipeline's name.
        runner: who drives it.
        state: what became of it.
        error: what it ended by, or None.
        error_type: that error's class, or "".
        error_number: its number, or "".
        started: when, in seconds since 1970, as all times here.
        connected: whether the source's connection stands, as far as it tells.
        source_away: for how long nothing has come from the source though it was asked.
        sink_away: for how long the sink, or what stands before it, has not taken what it was given.
        disconnects: how often the source's connection was lost.
        disconnected_by: what was said when it was lost last, or None.
        errors: how many, by class: those that ended the pipeline, and lost connections.
        captured: the tables that the log is read for.
        offset: the last saved one, or None.
        saved: when that was, or None.
        delivered: when the sink last took records, or None.
        records: how many records the sink holds.
        log_bytes: how much of the log was read.
        log_time: when the newest of these changes was committed at the source, or None.
        lag_bytes: how much of the log lay behind the offset when it was saved, or None.
        lag_messages: the same in messages.
        lag_seconds: how old the newest change was then; 0 at the log's end; None while not known.
        unmatched: a sentence about each entry of the include lists that matched nothing at the start.
        commits: when the latest records were delivered, and how many.
        counts: what the source counted.
        tables: the same by table.
        pace: how long the newest change took on its way.
        timeline: what has happened lately.
        place: what the run was started from.
        faults: how many records could not be delivered.
        snapshot: the newest snapshot.
        history: the schema history.
        queue: tells how full the sink's buffer is.
        metrics: where Prometheus finds the metrics, or None.
        forecast: when the log is purged that is to be read, or None while not known.
        changed: called by who changes a figure beside the hooks, so that it is shown.
        activity: what everything waits for; empty: nothing.
        activity_began: since when.
    """

    pipeline: str
    source: str
    server: str
    runner: str
    state: Literal["starting", "running", "stopped", "failed"] = "starting"
    error: str | None = None
    error_type: str = ""
    error_number: str = ""
    started: float = field(default_factory=now)
    connected: bool = False
    source_away: Absence = field(default_factory=Absence)
    sink_away: Absence = field(default_factory=Absence)
    disconnects: int = 0
    disconnected_by: str | None = None
    errors: Counter[str] = field(default_factory=Counter)
    captured: Sequence[str] = ()
    unmatched: Sequence[str] = ()
    offset: Offset | None = None
    saved: float | None = None
    delivered: float | None = None
    records: int = 0
    log_bytes: int = 0
    log_time: float | None = None
    lag_bytes: int | None = None
    lag_messages: int | None = None
    lag_seconds: float | None = None
    commits: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_COMMITS_KEPT))
    counts: SourceCounts = field(default_factory=SourceCounts)
    tables: TableChanges = field(default_factory=TableChanges)
    pace: Pace = field(default_factory=Pace)
    timeline: Timeline = field(default_factory=Timeline)
    place: RunPlace = field(default_factory=RunPlace)
    faults: FaultCounts = field(default_factory=FaultCounts)
    snapshot: SnapshotFigures = field(default_factory=SnapshotFigures)
    history: HistoryFigures = field(default_factory=HistoryFigures)
    queue: Callable[[], QueueFill | None] = _no_queue
    metrics: str | None = None
    forecast: Forecast | None = None
    changed: Callable[[], None] = _nothing
    activity: str = ""
    activity_began: float = field(default_factory=now)

    def commit(self, records: int, offset: Offset, log_time_ms: int | None, log_bytes: int) -> None:
        """Takes what one notice of saved progress says of the sink and the log."""
        self.offset, self.saved = offset, now()
        self.records += records
        self.log_bytes += log_bytes
        if records:
            self.delivered = self.saved
            self._add_commit(self.saved, records)
        if log_time_ms is not None:
            self.log_time = log_time_ms / 1000
            if records:
                self.pace.committed(self.log_time, self.saved)

    def count(self, counts: SourceCounts) -> None:
        """Takes what the source has counted since the last notice."""
        self.tables.add(counts.tables, self.log_time or now())
        counts.tables = {}
        self.counts.add(counts)

    def _add_commit(self, when: float, records: int) -> None:
        if self.commits and when - self.commits[-1][0] < _COMMIT_SECONDS:
            first, before = self.commits[-1]
            self.commits[-1] = first, before + records
        else:
            self.commits.append((when, records))

    def begin_activity(self, activity: str) -> None:
        """Everything waits for this now; empty: for nothing any more."""
        self.activity, self.activity_began = activity, now()

    @property
    def activity_seconds(self) -> float:
        """For how long everything has waited for it."""
        return now() - self.activity_began if self.activity else 0.0

    @property
    def events_per_second(self) -> float:
        """Over the last seconds."""
        return rate(list(self.commits), self.started, now())

    def lag(self, lag_bytes: int | None, lag_messages: int | None, *, still: bool) -> None:
        """Takes what the same notice says of the distance to the log's end; `still`: nothing new was read there."""
        self.lag_bytes, self.lag_messages = lag_bytes, lag_messages
        known = lag_messages if lag_bytes is None else lag_bytes
        if known == 0 or (known is None and still):
            self.lag_seconds = 0.0
        elif self.log_time is not None:
            self.lag_seconds = max(0.0, now() - self.log_time)

    def stop(self, error: BaseException | None) -> None:
        """The run is over."""
        self.connected = False
        self.history.status = "STOPPED"
        self.snapshot.end(completed=False)
        if error is None:
            self.state = "stopped"
            self.timeline.add("stopped", "stopped")
        else:
            self.state, self.error, self.error_type = "failed", str(error), type(error).__name__
            self.timeline.add("failed", self.error, self.error_type)
            self.error_number = number_of(error) if isinstance(error, CdcError) else CdcError.number
            self.errors[self.error_type] += 1
