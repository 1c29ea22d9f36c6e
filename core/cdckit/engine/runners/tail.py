"""A pipeline on Spark whose tail a direct process has (`tail: direct`): stages, one at a time, on one state.

The direct stage has the tail, with the latency of one process. Where it falls behind, or a snapshot is due that is not
small, Spark is started beside it, and goes on from its last saved offset; once that has caught up, its batch in hand is
finished, and the next direct stage begins behind it. Each stage holds the state for itself, and the next one begins
when that is let go of: a pipeline that is killed in between is one that no stage had begun.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack

from cdckit.api.record import Offset
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.handover import Handover
from cdckit.engine.runners.runner import Runner
from cdckit.engine.runners.spark_stage import SparkStage
from cdckit.engine.runners.spark_start import SparkStart
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.spark.java import require_java
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import current_offset

log = logging.getLogger("cdckit.runner")


class TailRunner(Runner):
    """Drives a pipeline by direct stages and stages on Spark, in turn."""

    name = "spark"

    def __init__(self, pipeline: ResolvedPipeline, stopping: StopSignal | None = None) -> None:
        super().__init__(pipeline, stopping)
        self._begin: Offset | None = None

    def drive(self, stack: ExitStack, once: bool) -> None:
        """Begins with a direct stage, which delivers while Spark starts, where that is needed."""
        require_java()
        spark, settled = SparkStart(self.pipeline, self.stopping), False
        self._begin = self._reached()
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

    def _reached(self) -> Offset | None:
        return current_offset(StatePlace.of(self.pipeline))

    def _on_spark(self, once: bool) -> SparkStage:
        from cdckit.engine.runners.spark import SparkRunner  # noqa: PLC0415 - a tail alone does not need it

        stage = SparkStage(self.stopping, self.figures, self._limit)
        self._stage(SparkRunner(self.pipeline, self.stopping, None if once else stage), once)
        return stage

    def _stage(self, runner: Runner, once: bool) -> None:
        """Runs a stage, which tells as this one does, and waits for a source that was reached by the stages before."""
        runner.notices, runner.figures, runner.lineage = self.notices, self.figures, self.lineage
        runner.retries = self.retries
        # What a stage has not saved it has not done, be it what is due at a start: that is left to the next one.
        self.starts = runner.starts = self.starts and self._reached() == self._begin
        self.figures.runner, self.figures.lag_seconds = runner.name, None
        with ExitStack() as stack:
            runner.drive(stack, once)
