"""A pipeline on Spark whose tail a direct process has (`tail: direct`): stages, one at a time, on one state.

The direct stage has the tail, with the latency of one process. Where it falls behind, or a snapshot is due that is not
small, Spark is started beside it, and goes on from its last saved offset; once that has caught up, its batch in hand is
finished, and the next direct stage begins behind it. Each stage holds the state for itself, and the next one begins
when that is let go of: a pipeline that is killed in between is one that no stage had begun.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import TYPE_CHECKING

from cdckit.engine.metrics.figures import Figures
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.handover import Handover
from cdckit.engine.runners.runner import Runner
from cdckit.engine.runners.spark_start import SparkStart
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.spark.java import require_java

if TYPE_CHECKING:
    from cdckit.engine.spark.notices import QueryNotices

log = logging.getLogger("cdckit.runner")

_BACK = 0.5
"""Spark gives the tail back once it is behind by this share of what a direct process may be."""
_POLL_SECONDS = 0.25


class SparkStage(StopSignal):
    """Ends a stage on Spark: once that has caught up, or the pipeline is to stop.

    Args:
        outer: says when the pipeline is to stop.
        figures: tell how far it is behind.
        limit_seconds: how far a direct process may be.

    Attributes:
        caught_up: whether it has.
        settled: whether Spark has left no batch that it had begun.
    """

    def __init__(self, outer: StopSignal, figures: Figures, limit_seconds: float) -> None:
        super().__init__()
        self.caught_up = False
        self.settled = False
        self._outer = outer
        self._figures = figures
        self._limit = limit_seconds * _BACK
        self._told: QueryNotices | None = None

    def watch(self, told: QueryNotices) -> None:
        """Takes what the query's processes tell from now on."""
        self._told = told

    def __call__(self) -> bool:
        """Whether it is to end."""
        self.caught_up = self.caught_up or self._has_caught_up()
        return self.caught_up or self._outer()

    def wait(self, seconds: float) -> bool:
        """Waits up to `seconds`; true as soon as the pipeline is to stop, or soon after Spark has caught up."""
        while seconds > 0 and not self():
            self._outer.wait(min(seconds, _POLL_SECONDS))
            seconds -= _POLL_SECONDS
        return self()

    def _has_caught_up(self) -> bool:
        told, lag = self._told, self._figures.lag_seconds
        if told is None:
            return False
        return told.is_idle or (lag is not None and lag <= self._limit and not told.rows_left)


class TailRunner(Runner):
    """Drives a pipeline by direct stages and stages on Spark, in turn."""

    name = "spark"

    def drive(self, stack: ExitStack, once: bool) -> None:
        """Begins with a direct stage, which delivers while Spark starts, where that is needed."""
        require_java()
        spark, settled = SparkStart(self.pipeline, self.stopping), False
        while not self.stopping():
            handover = Handover(spark, self.figures, self._limit, settled=settled)
            self._stage(DirectRunner(self.pipeline, self.stopping, handover), once)
            if not handover.given or self.stopping():
                return
            stage = self._on_spark(once)
            if not stage.caught_up or self.stopping():
                return
            log.info("Spark has caught up: the direct process goes on")
            settled = stage.settled

    @property
    def _limit(self) -> float:
        return self.pipeline.tail_max_lag_ms / 1000

    def _on_spark(self, once: bool) -> SparkStage:
        from cdckit.engine.runners.spark import SparkRunner  # noqa: PLC0415 - a tail alone does not need it

        stage = SparkStage(self.stopping, self.figures, self._limit)
        self._stage(SparkRunner(self.pipeline, self.stopping, None if once else stage), once)
        return stage

    def _stage(self, runner: Runner, once: bool) -> None:
        """Runs a stage, which tells as this one does."""
        runner.notices, runner.figures, runner.lineage = self.notices, self.figures, self.lineage
        self.figures.runner, self.figures.lag_seconds = runner.name, None
        with ExitStack() as stack:
            runner.drive(stack, once)
