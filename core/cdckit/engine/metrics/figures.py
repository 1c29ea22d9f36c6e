"""What is known of one pipeline that runs: the figures behind its metrics and its status."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cdckit.api.record import Offset
from cdckit.api.sink import QueueFill
from cdckit.api.source_counts import SourceCounts

RATE_SECONDS = 10.0
"""Over how long events a second are counted."""

HistoryStatus = Literal["STOPPED", "RECOVERING", "RUNNING"]
"""What Debezium's metric `Status` of the schema history may say."""

_COMMITS_KEPT = 256


def now() -> float:
    """Seconds since 1970."""
    return time.time()


def _no_queue() -> QueueFill | None:
    return None


@dataclass(slots=True)
class TableFigures:
    """The snapshot of one table or collection.

    Attributes:
        rows: how many rows were read.
        estimate: about how many it has, or None.
        finished: whether all were read.
    """

    rows: int = 0
    estimate: int | None = None
    finished: bool = False


@dataclass(slots=True)
class ChunkFigures:
    """The last chunk that a snapshot beside the log has read.

    Attributes:
        data_collection: its table.
        chunk_from: the key behind which it begins; empty for the table's first.
        chunk_to: its last key.
        table_to: the table's last key.
    """

    data_collection: str
    chunk_from: str
    chunk_to: str
    table_to: str


@dataclass(slots=True)
class SnapshotFigures:
    """The newest snapshot. Times are in seconds since 1970.

    Attributes:
        state: where it is; `none` before the first.
        began: when it began, or None.
        ended: when it ended, or None.
        told: when rows were last read, or None.
        tables: by name, in the order in which they were told of.
        rows_before: how many rows the snapshots before it read.
        locked: whether writers are locked out.
        paused_since: when it was paused, or None while it runs.
        paused_seconds: how long it was paused before that.
        chunk: what a snapshot beside the log reads, or None.
    """

    state: Literal["none", "running", "completed", "aborted"] = "none"
    began: float | None = None
    ended: float | None = None
    told: float | None = None
    tables: dict[str, TableFigures] = field(default_factory=dict)
    rows_before: int = 0
    locked: bool = False
    paused_since: float | None = None
    paused_seconds: float = 0.0
    chunk: ChunkFigures | None = None

    def begin(self, estimates: Mapping[str, int | None]) -> None:
        """A new one, of these tables, each of about so many rows."""
        self.state, self.began, self.ended = "running", now(), None
        self.rows_before += self.rows
        self.tables = {name: TableFigures(estimate=estimate) for name, estimate in estimates.items()}
        self.paused_since, self.paused_seconds, self.chunk = None, 0.0, None

    def end(self, *, completed: bool) -> None:
        """It is over; nothing where none runs."""
        if self.state == "running":
            self.pause(paused=False)
            self.state, self.ended = "completed" if completed else "aborted", now()

    def pause(self, *, paused: bool) -> None:
        """It is paused, or goes on."""
        if paused:
            self.paused_since = self.paused_since or now()
        elif self.paused_since is not None:
            self.paused_seconds += now() - self.paused_since
            self.paused_since = None

    @property
    def rows(self) -> int:
        """How many rows were read of all tables."""
        return sum(table.rows for table in list(self.tables.values()))

    @property
    def rows_ever(self) -> int:
        """How many rows this snapshot and those before it read."""
        return self.rows_before + self.rows

    @property
    def seconds(self) -> float:
        """How long it has taken, or took."""
        return 0.0 if self.began is None else (self.ended or now()) - self.began

    @property
    def seconds_paused(self) -> float:
        """How long it has been paused."""
        return self.paused_seconds + (0.0 if self.paused_since is None else now() - self.paused_since)


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
        started: when, in seconds since 1970, as all times here.
        connected: whether the source's connection stands, as far as it tells.
        disconnects: how often it was lost.
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
        snapshot: the newest snapshot.
        history: the schema history.
        queue: tells how full the sink's buffer is.
        metrics: where Prometheus finds the metrics, or None.
    """

    pipeline: str
    source: str
    server: str
    runner: str
    state: Literal["starting", "running", "stopped", "failed"] = "starting"
    error: str | None = None
    error_type: str = ""
    started: float = field(default_factory=now)
    connected: bool = False
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
    snapshot: SnapshotFigures = field(default_factory=SnapshotFigures)
    history: HistoryFigures = field(default_factory=HistoryFigures)
    queue: Callable[[], QueueFill | None] = _no_queue
    metrics: str | None = None

    def commit(self, records: int, offset: Offset, log_time_ms: int | None, log_bytes: int) -> None:
        """Takes what one notice of saved progress says of the sink and the log."""
        self.offset, self.saved = offset, now()
        self.records += records
        self.log_bytes += log_bytes
        if records:
            self.delivered = self.saved
            self.commits.append((self.saved, records))
        if log_time_ms is not None:
            self.log_time = log_time_ms / 1000

    def lag(self, records: int, lag_bytes: int | None, lag_messages: int | None) -> None:
        """Takes what the same notice says of the distance to the log's end."""
        self.lag_bytes, self.lag_messages = lag_bytes, lag_messages
        known = lag_messages if lag_bytes is None else lag_bytes
        if known == 0 or (known is None and not records):
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
        else:
            self.state, self.error, self.error_type = "failed", str(error), type(error).__name__
            self.errors[self.error_type] += 1
