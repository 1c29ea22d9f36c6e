"""What the planner and the workers tell the driver, put together for its lifecycle hooks."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from cdckit.api.notices import Notice, Notices
from cdckit.api.record import Offset
from cdckit.api.source_counts import SourceCounts
from cdckit.connector.snapshot_progress import PartsProgress
from cdckit.engine.lineage.outputs import OutputField, Told
from cdckit.engine.metrics.pace import Pace
from cdckit.engine.runners.sought_topics import SoughtTopics

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A batch that the planner has planned.

    Attributes:
        end: the offset that it ends at.
        log_time_ms: everything that was committed at the source before is in it or in those before; None: not known.
        log_bytes: how much of the log it takes.
        rows_left: whether rows of tables are still to be read behind it: a snapshot that it is a part of goes on.
    """

    end: Offset
    log_time_ms: int | None
    log_bytes: int
    rows_left: bool = False


class ProcessNotices(Notices):
    """What the planner and the workers tell: a source's notices, and their own."""

    def planned(self, batch: PlannedBatch) -> None:
        """A batch is planned; Spark has yet to commit it."""
        self.tell(Notice("planned", {"batch": batch}))

    def idle(self) -> None:
        """The source has answered that there is nothing to read."""
        self.tell(Notice("idle", {}))

    def ended(self) -> None:
        """The query is at the log's end, where it is to end, and Spark has committed all before it."""
        self.tell(Notice("ended", {}))

    def counted(self, counts: SourceCounts) -> None:
        """A worker's source has counted so much."""
        self.tell(Notice("counted", {"counts": counts}))

    def topics_found(self, found: Mapping[str, bool]) -> None:
        """What a worker's transforms look for among the topics, and whether they have found it."""
        self.tell(Notice("topics_found", {"found": found}))

    def written(self, topic: str, fields: tuple[OutputField, ...]) -> None:
        """A worker's records go to a topic."""
        self.tell(Notice("written", {"topic": topic, "fields": fields}))


class QueryNotices(ProcessNotices):
    """Takes the notices of a query's processes, which may come at the same time.

    Hooks are told as they are; what only makes sense together is kept until then: parts of tables, counts, and plans
    of batches that Spark has not committed yet.

    Args:
        notices: calls the lifecycle hooks.
        pace: told when the batch was planned that is committed.
        outputs: takes what workers write; None: nobody asks.

    Attributes:
        counts: what the workers have counted since it was last taken.
        connected: whether the source has answered since the query began.
        is_idle: whether it has answered, since then, that there was nothing left to read.
        at_end: whether the query is at the end that it was given.
        rows_left: whether rows of tables are still to be read behind the last batch that was committed; so it is held
            to be before the first.
        delivery_seconds: how long the delivery of the last batch took; 0 before the first.
    """

    def __init__(self, notices: Notices, pace: Pace | None = None, outputs: Told | None = None) -> None:
        self._outputs = outputs
        self._pace = pace or Pace()
        self.counts = SourceCounts()
        self.connected = False
        self.is_idle = False
        self.at_end = False
        self.rows_left = True
        self.delivery_seconds = 0.0
        self._notices = notices
        self._parts = PartsProgress(notices)
        self._sought = SoughtTopics()
        self._planned: deque[tuple[PlannedBatch, float]] = deque()
        self._snapshot_end: Offset | None = None
        self._rows_left = False
        self._lock = threading.Lock()

    def tell(self, notice: Notice) -> None:
        """Passes on what means the same whoever tells it."""
        with self._lock:
            notice.tell(self._notices)

    def planned(self, batch: PlannedBatch) -> None:
        """Keeps the plan until Spark commits the batch."""
        with self._lock:
            self._planned.append((batch, time.time()))
            if self._snapshot_end is not None and self._rows_left:
                self._snapshot_end, self._rows_left = batch.end, batch.rows_left
            self._connect()

    def idle(self) -> None:
        """Notes that the source has answered."""
        with self._lock:
            self.is_idle = True
            self._connect()

    def ended(self) -> None:
        """Notes that the query has nothing more to do."""
        self.at_end = True

    def _connect(self) -> None:
        if not self.connected:
            self.connected = True
            self._notices.connection(connected=True)

    def snapshot_started(self, data_collections: Mapping[str, int | None]) -> None:
        """Notes which batch the snapshot begins with; of several, the last one is its end."""
        with self._lock:
            planned = self._planned[-1][0] if self._planned else None
            self._snapshot_end = None if planned is None else planned.end
            self._rows_left = planned is not None and planned.rows_left
            self._parts.begin(data_collections)
            self._notices.snapshot_started(data_collections)

    def snapshot_part(self, data_collection: str, part: int, parts: int, rows: int, finished: bool) -> None:
        """Adds the parts of a table up."""
        with self._lock:
            self._parts.part(data_collection, part, parts, rows, finished)

    def counted(self, counts: SourceCounts) -> None:
        """Adds the workers' counts up."""
        with self._lock:
            self.counts.add(counts)

    def topics_found(self, found: Mapping[str, bool]) -> None:
        """Puts together what the workers have found."""
        with self._lock:
            self._sought.add(found)

    def written(self, topic: str, fields: tuple[OutputField, ...]) -> None:
        """Passes it on to whoever asks."""
        if self._outputs is not None:
            self._outputs(topic, fields)

    def lost(self, reason: str) -> None:
        """The source was away; the query begins anew."""
        with self._lock:
            self.connected = self.is_idle = self.at_end = False
            self._planned.clear()
            self._notices.connection(connected=False, reason=reason)

    def committed(self, end: Offset) -> tuple[int | None, int]:
        """Takes the plans of the batches up to `end`, which Spark has committed.

        Returns:
            the last one's `log_time_ms`, and the `log_bytes` of all.
        """
        with self._lock:
            time_ms, size = None, 0
            if any(batch.end == end for batch, _ in self._planned):
                while self._planned:
                    batch, self._pace.read_at = self._planned.popleft()
                    if self._pace.begun_at is None:
                        self._pace.begun_at = self._pace.read_at
                    time_ms, size = batch.log_time_ms, size + batch.log_bytes
                    self.rows_left = batch.rows_left
                    if batch.end == end:
                        break
            return time_ms, size

    def told_of(self, end: Offset) -> None:
        """The hooks know of all batches up to `end`: a snapshot that was one of them is over."""
        with self._lock:
            self._sought.say()
            if self._snapshot_end is not None and self._snapshot_end == end and not self._rows_left:
                self._snapshot_end = None
                self._notices.snapshot_ended(completed=True)

    def between(self, act: Callable[[], Made]) -> Made:
        """What `act` gives while nothing is told."""
        with self._lock:
            return act()

    def take_counts(self) -> SourceCounts:
        """What was counted since the last call."""
        with self._lock:
            return self.counts.take()
