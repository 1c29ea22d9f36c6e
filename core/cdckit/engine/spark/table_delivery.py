"""A sink that keeps tables through Spark."""

from __future__ import annotations

import logging
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.notices import RunNotices
from cdckit.engine.pipeline import make_source
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.spark.delivery import Delivery
from cdckit.engine.spark.faults import TaskFaults
from cdckit.engine.spark.inbox import Address
from cdckit.engine.spark.task_context import task_faults
from cdckit.engine.state.generation import Generation
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.spark_checkpoint import Folder
from cdckit.engine.table_context import table_context
from cdckit.errors import RetriableSinkError
from cdckit.tables.refused import RowsFoundError
from cdckit.tables.sink import SparkTableSink

log = logging.getLogger("cdckit.runner")


class TableDelivery(Delivery):
    """A table sink does it all itself."""

    form = "table rows"
    once_each = False

    def __init__(self, pipeline: ResolvedPipeline, sink: SparkTableSink, stopping: StopSignal) -> None:
        self.pipeline = pipeline
        self.state = StatePlace.of(pipeline)
        self.stopping = stopping
        self.sink = sink
        self.delta = sink.needs_delta
        self.marks = sink.follows_marks
        self.mirrors = sink.mirrors
        self.interval_ms = sink.commit_interval_ms
        self.faults: TaskFaults | None = None

    def open(
        self, session: SparkSession, generation: Generation, checkpoint: Folder, faults: Address | None = None
    ) -> None:
        """Opens the sink, which is to find the rows that a table refuses where these do not stop the pipeline."""
        self.faults = task_faults(self.pipeline, faults)
        activity = RunNotices(self.pipeline.name).activity
        source = make_source(self.pipeline)
        self.schedule = source.retry_schedule()
        kept, marks = self.state.kept, source.tells_marks
        context = table_context(self.pipeline, generation.id, kept, activity, self.made, marks=marks)
        self.sink.open(session, replace(context, pause=self._pause, finds_refused=self.faults is not None))
        self.shares_folders = self.sink.shares_folders

    def deliver(self, frame: DataFrame, batch: int) -> int:
        """Hands the packets to the sink."""
        self.retries = Retries(self.schedule, self.stopping)
        self.retries.reached()
        if self.faults is None:
            return self.sink.write(frame, batch)
        return self._delivered(frame, batch, self.faults)

    def rehearse(self, frame: DataFrame) -> None:
        """As the sink does."""
        self.sink.rehearse(frame)

    def _delivered(self, frame: DataFrame, batch: int, faults: TaskFaults) -> int:
        """Hands the packets over; where a table refuses rows, those of the same batch that the others make."""
        faults.batch_begins()
        while True:
            try:
                return self.sink.write(frame, batch)
            except RowsFoundError as error:
                if not faults.refused(error.reasons):
                    raise
                log.info("the batch is read again without %d rows that tables refuse", len(error.reasons))

    def _pause(self, error: RetriableSinkError) -> None:
        """Waits as after a fault of the source; not once the pipeline is to stop."""
        self.retries.pause(error)
        if self.stopping():
            raise error

    def close(self) -> None:
        """Closes the sink."""
        self.sink.close()
