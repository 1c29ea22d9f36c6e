"""Batches that Spark's planner reads in order, and workers' code, in this process and without a JVM."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cdckit.api.record import Offset
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.packets import messages_of
from cdckit.engine.spark.partitions import partitions_of, read_partition
from cdckit.engine.spark.planner import Planner


class InOrder:
    """One query's batches, and how far it has come by its checkpoint.

    Attributes:
        offset: the end of the last batch that is committed.
        planned: the end of a batch that is planned and not committed.
        events: what was delivered.
    """

    def __init__(self, pipeline: ResolvedPipeline, **job: Any) -> None:
        self.job = Job(pipeline, "packed messages", in_order=pipeline.source_config.reads_in_order, **job)
        self.offset: Offset | None = None
        self.planned: Offset | None = None
        self.events: list[dict[str, Any]] = []

    @contextmanager
    def planner(self) -> Iterator[Planner]:
        """A planner's life; it says nothing of its end to anybody."""
        planner = Planner(self.job)
        try:
            self.offset = planner.initial_offset() if self.offset is None else self.offset
            yield planner
        finally:
            planner.close()

    def run(self, most: int = 99, *, dies: bool = False) -> int:
        """Delivers batches until nothing comes; it may die when the last one is delivered and not committed."""
        with self.planner() as planner:
            for number in range(most):
                assert self.offset is not None
                end = self.planned or self._next(planner, self.offset)
                if end is None:
                    return number
                self.planned = _as_json(end)
                self._deliver(planner, self.offset, self.planned)
                if dies and number == most - 1:
                    return most
                self.offset, self.planned = self.planned, None
        return most

    def _next(self, planner: Planner, start: Offset) -> Offset | None:
        """The end of the next batch, asked for twice where nothing comes: the first answer is not waited for."""
        for _ in range(2):
            end = planner.latest_offset(start, self.job.max_bytes)
            if end != start:
                return end
        return None

    def _deliver(self, planner: Planner, start: Offset, end: Offset) -> None:
        plan = planner.splits(start, end)
        for partition in partitions_of(plan.splits, plan.buckets):
            sent = pickle.loads(pickle.dumps(partition))
            for batch in read_partition(self.job, sent):
                for data in batch.column("data"):
                    self._take(messages_of(data.as_buffer()))

    def _take(self, messages: Any) -> None:
        for topic, value, position in zip(messages.topics, messages.values, messages.positions, strict=True):
            self.events.append({"topic": topic, "position": position, "value": value and json.loads(value)})


def _as_json(offset: Offset) -> Offset:
    kept: Offset = json.loads(json.dumps(offset))
    return kept
