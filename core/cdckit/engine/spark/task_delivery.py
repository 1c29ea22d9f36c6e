"""A sink that Spark's tasks write, each its own share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as f

from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.spark.delivery import Delivery
from cdckit.engine.spark.failures import sealed_errors
from cdckit.engine.spark.inbox import Address
from cdckit.engine.spark.packets import messages_of
from cdckit.engine.spark.parallelism import parallelism_of
from cdckit.engine.spark.task_sink import TaskSink
from cdckit.engine.state.generation import Generation
from cdckit.engine.state.spark_checkpoint import Folder

_TRIED = 64
"""So many numbers are tried for each task: that the hashes of all miss one is as good as impossible."""


class TaskDelivery(Delivery):
    """Every task writes its own share: where several splits were read, whole buckets of keys, sorted."""

    form = "packed messages"

    def __init__(self, pipeline: ResolvedPipeline, *, once: bool) -> None:
        self.pipeline = pipeline
        self.once = once

    def open(
        self, session: SparkSession, generation: Generation, checkpoint: Folder, faults: Address | None = None
    ) -> None:
        """Makes what tasks are told of the sink."""
        self.session = session
        self.task_sink = TaskSink(self.pipeline, faults, self.once)

    def deliver(self, frame: DataFrame, batch: int) -> int:
        """Writes the batch from the tasks; each flushes before it ends."""
        assert self.task_sink is not None
        counted = frame.select("rows")  # whoever reads the only split writes it as well
        if frame.rdd.getNumPartitions() > 1:
            # Splits are read at the same time, so a key's messages come from several tasks: all of a bucket meet in
            # one, and the packets sort by their first position. Ranges of the log do not overlap, so packets of a
            # bucket do not either. What the first one's reader has written is a packet without data.
            shared = by_bucket(frame, parallelism_of(self.session)).sortWithinPartitions("position")
            counted = shared.select("rows", "data").mapInArrow(share_writer(self.task_sink), "rows bigint")
        return sum(row.rows for row in counted.collect())


def by_bucket(frame: DataFrame, parallelism: int) -> DataFrame:
    """A task for each bucket: by a hash of their numbers, one of two tasks could have most of them."""
    if hasattr(DataFrame, "repartitionById"):  # since Spark 4.1
        return frame.repartitionById(parallelism, "bucket")
    return by_hash(frame, parallelism)


def by_hash(frame: DataFrame, parallelism: int) -> DataFrame:
    """The same where Spark goes by hashes alone: each bucket stands for a number whose hash means its task."""
    numbers = f.array(*map(f.lit, _numbers(parallelism)))
    return frame.repartition(parallelism, f.element_at(numbers, f.col("bucket") % parallelism + 1))


@cache
def _numbers(tasks: int) -> Sequence[int]:
    """For each of so many tasks a number whose hash means it."""
    hashes = f.pmod(f.hash(f.col("id").cast("int")), f.lit(tasks))
    found = [row.task for row in SparkSession.active().range(_TRIED * tasks).select(hashes.alias("task")).collect()]
    return [found.index(task) for task in range(tasks)]


def share_writer(known: TaskSink) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What writes one task's share: takes batches with the columns `rows` and `data`, and says how many rows."""

    def write_share(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = 0
        # Each task's share is safe before the task counts as done; Spark repeats the others without this one.
        with sealed_errors(), known.writing() as sink:
            for batch in batches:
                for written, data in zip(*batch.columns, strict=True):
                    packet = data.as_buffer()
                    rows += sink.write(messages_of(packet)) if packet.size else written.as_py()
        yield pa.RecordBatch.from_pydict({"rows": [rows]})

    return write_share
