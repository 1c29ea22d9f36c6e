"""A sink that keeps tables through Spark."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.notices import RunNotices
from cdckit.engine.pipeline import make_source
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.spark.delivery import Delivery
from cdckit.engine.spark.writer import Address
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import Generation
from cdckit.engine.state.spark_checkpoint import Folder
from cdckit.engine.table_context import table_context
from cdckit.errors import RetriableSinkError
from cdckit.tables.sink import SparkTableSink


class TableDelivery(Delivery):
    """A table sink does it all itself."""

    form = "table rows"
    once_each = False

    def __init__(self, pipeline: ResolvedPipeline, sink: SparkTableSink, stopping: StopSignal) -> None:
        self.pipeline = pipeline
        self.state = StatePlace.of(pipeline)
        source = make_source(pipeline)
        self.schedule, self.told = source.retry_schedule(), source.tells_marks
        self.stopping = stopping
        self.sink = sink
        self.delta = sink.needs_delta
        self.marks = sink.follows_marks
        self.mirrors = sink.mirrors
        self.interval_ms = sink.commit_interval_ms

    def open(
        self, session: SparkSession, generation: Generation, checkpoint: Folder, faults: Address | None = None
    ) -> None:
        """Opens the sink, which refuses no single record."""
        activity = RunNotices(self.pipeline.name).activity
        context = table_context(self.pipeline, generation.id, self.state.kept, activity, marks=self.told)
        self.sink.open(session, replace(context, pause=self._pause))

    def deliver(self, frame: DataFrame, batch: int) -> int:
        """Hands the packets to the sink."""
        self.retries = Retries(self.schedule, self.stopping)
        self.retries.reached()
        return self.sink.write(frame, batch)

    def _pause(self, error: RetriableSinkError) -> None:
        """Waits as after a fault of the source; not once the pipeline is to stop."""
        self.retries.pause(error)
        if self.stopping():
            raise error

    def close(self) -> None:
        """Closes the sink."""
        self.sink.close()
