"""Splits as what Spark calls the partitions of an input, and one of those read in a worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.sql.datasource import InputPartition

from cdckit.api.source import Split
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.leading import leads
from cdckit.engine.spark.worker import read_splits

if TYPE_CHECKING:
    import pyarrow as pa


class SplitPartition(InputPartition):
    """An input partition.

    Attributes:
        splits: what is read, one after another; none where there is nothing.
        buckets: how many shares of the keys its packets are made for; 0: whoever reads it has all there is of each key.
        leads: names the batch whose first split it is, where its messages may be written ahead of all others; else "".
        plan: tells the plan that it is of from others of the same batch.
        number: its own in the plan.
    """

    def __init__(self, splits: Sequence[Split], buckets: int = 0) -> None:
        super().__init__(splits)
        self.splits = splits
        self.buckets = buckets
        self.leads = ""
        self.plan, self.number = "", 0


def partitions_of(splits: Sequence[Split], buckets: int = 0, *, in_order: bool = False) -> list[SplitPartition]:
    """The only partition of a batch needs no shares: nothing is sorted.

    Args:
        splits: what is read.
        buckets: how many shares of the keys there are; 0: none.
        in_order: whether one task reads all, so that it knows of each failure before what comes behind it.
    """
    if in_order and splits:
        return [SplitPartition(splits)]
    found = [SplitPartition([split], buckets if len(splits) > 1 else 0) for split in splits]
    if buckets and leads(splits):
        found[0].leads = uuid4().hex
    return found


def numbered(partitions: Sequence[SplitPartition]) -> str:
    """Numbers the partitions of a plan, and gives its name."""
    plan = uuid4().hex
    for number, partition in enumerate(partitions):
        partition.plan, partition.number = plan, number
    return plan


def read_partition(job: Job, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """One partition's records, in a worker."""
    assert isinstance(partition, SplitPartition)
    if not partition.splits:
        return iter(())
    task = partition.plan, partition.number
    return read_splits(job, partition.splits, partition.buckets, task, partition.leads)
