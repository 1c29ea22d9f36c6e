"""What the planner and the workers tell the driver, put together for its lifecycle hooks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cdckit.api.record import Offset
from cdckit.api.source import Notify
from cdckit.api.source_counts import SourceCounts
from cdckit.connector.snapshot_progress import PartsProgress
from cdckit.engine.runners.sought_topics import SoughtTopics


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A batch that the planner has planned.

    Attributes:
        end: the offset that it ends at.
        log_time_ms: everything that was committed at the source before is in it or in those before; None: not known.
        log_bytes: how much of the log it takes.
    """

    end: Offset
    log_time_ms: int | None
    log_bytes: int


class Notices:
    """Takes the notices of a query's processes, which may come at the same time.

    Hooks are told as they are; what only makes sense together is kept until then: parts of tables, counts, and plans
    of batches that Spark has not committed yet.

    Args:
        notify: calls the lifecycle hooks.

    Attributes:
        counts: what the workers have counted since it was last taken.
        connected: whether the source has answered since the query began.
        idle: whether it has answered, since then, that there was nothing left to read.
    """

    def __init__(self, notify: Notify) -> None:
        self.counts = SourceCounts()
        self.connected = False
        self.idle = False
        self._notify = notify
        self._parts = PartsProgress(notify)
        self._sought = SoughtTopics()
        self._planned: deque[PlannedBatch] = deque()
        self._snapshot_end: Offset | None = None
        self._lock = threading.Lock()
        self._own: dict[str, Callable[..., None]] = {
            "planned": self._plan,
            "idle": self._rest,
            "snapshot_started": self._begin_snapshot,
            "snapshot_part": self._parts.part,
            "counted": self._count,
            "topics_found": self._sought.add,
        }

    def __call__(self, notice: str, /, **facts: Any) -> None:
        """Takes a notice."""
        with self._lock:
            own = self._own.get(notice)
            if own is None:
                self._notify(notice, **facts)
            else:
                own(**facts)

    def _plan(self, batch: PlannedBatch) -> None:
        self._planned.append(batch)
        self._connect()

    def _rest(self) -> None:
        self.idle = True
        self._connect()

    def _connect(self) -> None:
        if not self.connected:
            self.connected = True
            self._notify("connection", connected=True, reason="")

    def _begin_snapshot(self, data_collections: Mapping[str, int | None]) -> None:
        self._snapshot_end = self._planned[-1].end if self._planned else None
        self._parts.begin(data_collections)
        self._notify("snapshot_started", data_collections=data_collections)

    def _count(self, counts: SourceCounts) -> None:
        self.counts.add(counts)

    def lost(self, reason: str) -> None:
        """The source was away; the query begins anew."""
        with self._lock:
            self.connected = self.idle = False
            self._planned.clear()
            self._notify("connection", connected=False, reason=reason)

    def committed(self, end: Offset) -> tuple[int | None, int]:
        """Takes the plans of the batches up to `end`, which Spark has committed.

        Returns:
            the last one's `log_time_ms`, and the `log_bytes` of all.
        """
        with self._lock:
            time_ms, size = None, 0
            if any(batch.end == end for batch in self._planned):
                while self._planned:
                    batch = self._planned.popleft()
                    time_ms, size = batch.log_time_ms, size + batch.log_bytes
                    if batch.end == end:
                        break
            return time_ms, size

    def told_of(self, end: Offset) -> None:
        """The hooks know of all batches up to `end`: a snapshot that was one of them is over."""
        with self._lock:
            self._sought.say()
            if self._snapshot_end is not None and self._snapshot_end == end:
                self._snapshot_end = None
                self._notify("snapshot_ended", completed=True)

    def take_counts(self) -> SourceCounts:
        """What was counted since the last call."""
        with self._lock:
            return self.counts.take()
