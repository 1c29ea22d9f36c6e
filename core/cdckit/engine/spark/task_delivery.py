"""A sink that Spark's tasks write, each its own share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cdckit.api.sink import Sink
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_sink
from cdckit.engine.quarantine.delivery import TolerantSink
from cdckit.engine.spark.delivery import Delivery, task_context, task_faults
from cdckit.engine.spark.failures import sealed_errors
from cdckit.engine.spark.inbox import Address
from cdckit.engine.spark.packets import messages_of
from cdckit.engine.spark.worker_cache import WorkerCache
from cdckit.engine.state.runner_handover import Generation
from cdckit.engine.state.spark_checkpoint import Folder


class TaskDelivery(Delivery):
    """Every task writes its own share: where several splits were read, whole buckets of keys, sorted."""

    form = "packed messages"
    shared = True

    def __init__(self, pipeline: ResolvedPipeline, *, once: bool) -> None:
        self.pipeline = pipeline
        self.once = once

    def open(
        self, session: SparkSession, generation: Generation, checkpoint: Folder, faults: Address | None = None
    ) -> None:
        """Makes what the tasks do."""
        self.write_share = _share_writer(self.pipeline, uuid4().hex, faults, once=self.once)

    def deliver(self, frame: DataFrame, batch: int) -> int:
        """Writes the batch from the tasks; each flushes before it ends."""
        if frame.rdd.getNumPartitions() > 1:
            # Splits are read at the same time, so a key's messages come from several tasks: all of a bucket meet in
            # one, and the packets sort by their first position. Ranges of the log do not overlap, so packets of a
            # bucket do not either.
            frame = frame.repartition("bucket").sortWithinPartitions("position")
        counts = frame.select("data").mapInArrow(self.write_share, "records bigint").collect()
        return sum(row.records for row in counts)


class _OpenSink:
    """A sink in a worker process."""

    def __init__(self, pipeline: ResolvedPipeline, faults: Address | None, *, once: bool) -> None:
        sink = make_sink(pipeline)
        assert isinstance(sink, Sink)
        self._faults = task_faults(pipeline, faults)
        waits = pipeline.errors.waits
        self.sink = sink if self._faults is None else TolerantSink(sink, self._faults, waits=waits)
        try:
            self.sink.open(task_context(pipeline, self._faults, once=once))
        except BaseException:
            sink.close()
            raise

    def begin(self) -> None:
        """Another share is written."""
        if self._faults is not None:
            self._faults.begin()

    def flush(self) -> None:
        """Returns once everything is safe: in the target, or with the driver."""
        self.sink.flush()

    def close(self) -> None:
        self.sink.close()


_sinks: WorkerCache[_OpenSink] = WorkerCache()


def _share_writer(
    pipeline: ResolvedPipeline, token: str, faults: Address | None, *, once: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write_share(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        records = 0
        with sealed_errors(), _sinks.use(token, lambda: _OpenSink(pipeline, faults, once=once)) as opened:
            opened.begin()
            for batch in batches:
                for data in batch.column(0):
                    messages = messages_of(data.as_buffer())
                    if not pipeline.position_header:
                        messages.positions = [""] * len(messages)
                    opened.sink.write(messages)
                    records += len(messages)
            # Each task's share is safe before the task counts as done; Spark repeats the others without this one.
            opened.flush()
        yield pa.RecordBatch.from_pydict({"records": [records]})

    return write_share
