"""What Spark's own event log tells of a streaming query: its batches, and when it did what."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

Stage = Literal["plan", "read", "write", "commit"]
STAGES: tuple[Stage, ...] = ("plan", "read", "write", "commit")
_PROGRESS = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
_COMPLETED, _TASK_END = "SparkListenerStageCompleted", "SparkListenerTaskEnd"
_SENT, _RETURNED = "data sent to Python workers", "data returned from Python workers"
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


class Task(NamedTuple):
    """The bytes that a task moved.

    Attributes:
        number: of the one of Spark's stages that it was part of.
        end: when it ended.
        shuffled: what it handed on to other tasks.
        sent: what its Pythons were given by Java, those that read the source first.
        returned: what these gave to Java.
    """

    number: int
    end: float
    shuffled: int
    sent: tuple[int, ...]
    returned: tuple[int, ...]


@dataclass(slots=True)
class EventLog:
    """A run of one query.

    Attributes:
        batches: those with something to deliver, in order.
        stages: Spark's own stages by their numbers, each called by what it does here.
        tasks: those that ended.
    """

    batches: list[StreamBatch] = field(default_factory=list)
    stages: dict[int, Window] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)

    def tasks_of(self, stage: Stage, since: float) -> Iterator[Task]:
        """Those of a stage that ended at a moment or later."""
        for task in self.tasks:
            if task.end >= since and task.number in self.stages and self.stages[task.number].stage == stage:
                yield task

    def windows(self, batches: Iterable[StreamBatch]) -> Iterator[Window]:
        """What went on in batches, without a gap: what is neither planning nor a stage of Spark's is committing."""
        for batch in batches:
            yield Window("plan", batch.start, batch.planned)
            at = batch.planned
            for one in sorted(self.stages.values(), key=lambda stage: stage.start):
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
                    found.stages[event["Stage Info"]["Stage ID"]] = _stage(event["Stage Info"])
                case name if name == _TASK_END:
                    found.tasks.append(_task(event))
    found.tasks = [*_each_alone(found)]
    return found


def _each_alone(found: EventLog) -> Iterator[Task]:
    """The tasks; of a data source in Python Spark tells of each what all tasks of the query have moved until then."""
    sent, returned = 0, 0
    for task in sorted(found.tasks, key=lambda task: task.end):
        window = found.stages.get(task.number)
        if window is None or window.stage != "read" or not task.returned:
            yield task
            continue
        own_sent, own_returned = max(0, task.sent[0] - sent), max(0, task.returned[0] - returned)
        sent, returned = sent + own_sent, returned + own_returned
        yield task._replace(sent=(own_sent, *task.sent[1:]), returned=(own_returned, *task.returned[1:]))


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


def _task(told: dict[str, Any]) -> Task:
    info = told["Task Info"]
    # A plan's nodes get their numbers from the source on.
    figures = sorted(info["Accumulables"], key=lambda one: int(one["ID"]))
    sent, returned = (
        tuple(int(one["Update"]) for one in figures if one.get("Name") == name) for name in (_SENT, _RETURNED)
    )
    shuffled = told["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return Task(told["Stage ID"], info["Finish Time"] / 1000, shuffled, sent, returned)
