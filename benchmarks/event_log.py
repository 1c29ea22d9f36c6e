"""What Spark's own event log tells of a streaming query: its batches, and when it did what."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

Stage = Literal["plan", "read", "write", "commit"]
STAGES: tuple[Stage, ...] = ("plan", "read", "write", "commit")
_PROGRESS = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
_COMPLETED, _TASK_END = "SparkListenerStageCompleted", "SparkListenerTaskEnd"
_PLANNING = ("latestOffset", "getBatch", "queryPlanning")


@dataclass(frozen=True, slots=True)
class Window:
    """When a stage went on, in seconds since the epoch."""

    stage: Stage
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """One micro-batch.

    Attributes:
        end_offset: of the data source, as its JSON.
        start: in seconds since the epoch.
        end: when Spark had noted it as done.
        planned: when it was planned.
    """

    end_offset: str
    start: float
    end: float
    planned: float


@dataclass(slots=True)
class EventLog:
    """A run of one query.

    Attributes:
        batches: those with something to deliver, in order.
        stages: those of Spark's own stages, each called by what it does here.
        shuffled: bytes that tasks handed on, by the second in which they ended.
    """

    batches: list[StreamBatch] = field(default_factory=list)
    stages: list[Window] = field(default_factory=list)
    shuffled: list[tuple[float, int]] = field(default_factory=list)

    def windows(self, batches: Iterable[StreamBatch]) -> Iterator[Window]:
        """What went on in batches, without a gap: what is neither planning nor a stage of Spark's is committing."""
        for batch in batches:
            yield Window("plan", batch.start, batch.planned)
            at = batch.planned
            for one in sorted(self.stages, key=lambda stage: stage.start):
                if batch.planned <= one.start < batch.end:
                    if one.start > at:
                        yield Window("commit", at, one.start)
                    yield Window(one.stage, max(at, one.start), one.end)
                    at = max(at, one.end)
            if at < batch.end:
                yield Window("commit", at, batch.end)


def read_event_log(folder: Path) -> EventLog:
    """Reads the one file in a folder of event logs, neither compressed nor cut."""
    found = EventLog()
    [path] = folder.iterdir()
    with path.open() as lines:
        for event in map(json.loads, lines):
            match event["Event"]:
                case name if name == _PROGRESS:
                    _take_progress(found, event["progress"])
                case name if name == _COMPLETED:
                    found.stages.append(_stage(event["Stage Info"]))
                case name if name == _TASK_END:
                    written = event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                    found.shuffled.append((event["Task Info"]["Finish Time"] / 1000, written))
    return found


def _take_progress(found: EventLog, progress: dict[str, Any]) -> None:
    took = progress["durationMs"]
    if "addBatch" not in took:
        return
    start = datetime.fromisoformat(progress["timestamp"]).timestamp()
    planned = start + sum(took.get(part, 0) for part in _PLANNING) / 1000
    [source] = progress["sources"]
    offset = source["endOffset"]
    text = offset if isinstance(offset, str) else json.dumps(offset)
    found.batches.append(StreamBatch(text, start, start + took["triggerExecution"] / 1000, planned))


def _stage(told: dict[str, Any]) -> Window:
    """A stage that takes from a shuffle writes; the first one reads, and writes, too, where nothing is shuffled."""
    shuffles = any("Shuffled" in rdd["Name"] for rdd in told["RDD Info"])
    start, end = told["Submission Time"] / 1000, told["Completion Time"] / 1000
    return Window("write" if shuffles else "read", start, end)
