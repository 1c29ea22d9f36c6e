"""The reader of a stream, which releases of Spark ask for their next batch in two ways.

From 4.2 on Spark says where the batch begins and how much it may hold, and that a query is to end at the log's end
(`Trigger.AvailableNow`): `StreamReader`. Spark 4.0 and 4.1 ask for "the latest offset" and nothing else, so that
`BareReader` knows by itself where the batch begins, and cuts by the job's own limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from cdckit.api.record import Offset
from cdckit.engine.spark.failures import sealed_errors
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.partitions import partitions_of, read_partition
from cdckit.engine.spark.planner import Planner

if TYPE_CHECKING:
    import pyarrow as pa

LIMITED = find_spec("pyspark.sql.streaming.datasource") is not None
"""Whether this release of Spark says where a batch begins and how much it may hold."""


class PlannedReader(DataSourceStreamReader):
    """What both have. Spark makes it several times, in the planner's process and elsewhere, and sends it to workers."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.planner = Planner(job)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The splits between two offsets."""
        with sealed_errors():
            plan, waits = self.planner.splits(start, end), self.job.pipeline.errors.waits
            found = partitions_of(plan.splits, plan.buckets, in_order=waits)
            if start != end:  # the last offset in a checkpoint is shown so, and is that of a batch which may come again
                self.planner.told(end, found)
            return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One split, in a worker."""
        return read_partition(self.job, partition)

    def commit(self, end: Offset) -> None:
        """A batch is in the sink. Spark says it late, and not of the last batch."""
        with sealed_errors():
            self.planner.committed(end)

    def stop(self) -> None:
        """Lets go of the source and the state."""
        self.planner.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"job": self.job}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A planner holds sockets and the state, and is of the process that plans: a copy in a worker begins without.
        self.__init__(state["job"])  # type: ignore[misc]


class BareReader(PlannedReader):
    """For Spark 4.0 and 4.1.

    A query without a checkpoint is asked for its first end before its begin. One with a checkpoint is shown the last
    offset that stands there, as the partitions of a batch that begins and ends there, before anything else.
    """

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._first: Offset | None = None
        self._reached: Offset | None = None

    def initialOffset(self) -> Offset:
        """Where a query without a checkpoint begins: the same whenever it is asked for."""
        if self._first is None:
            with sealed_errors():
                self._first = self.planner.initial_offset()
        return self._first

    def latestOffset(self) -> Offset:  # type: ignore[override]
        """The end of the next batch, which begins where the one before ended: Spark notes each end that it is given."""
        start = self.initialOffset() if self._reached is None else self._reached
        with sealed_errors():
            self._reached = self.planner.latest_offset(start, self.job.max_bytes)
        return self._reached

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The splits between two offsets; of those that come first, the end is the last one in the checkpoint."""
        if self._reached is None:
            self._reached = end
        return super().partitions(start, end)


if TYPE_CHECKING or LIMITED:
    from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

    class StreamReader(PlannedReader, SupportsTriggerAvailableNow):
        """For Spark 4.2."""

        def initialOffset(self) -> Offset:
            """Where a query without a checkpoint begins."""
            with sealed_errors():
                return self.planner.initial_offset()

        def getDefaultReadLimit(self) -> ReadLimit:
            """A backlog is cut into batches of about as many bytes of the log."""
            return ReadMaxBytes(self.job.max_bytes)

        def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
            """The end of the next batch. It waits for the log to move: an idle stream does not ask in a loop."""
            with sealed_errors():
                max_bytes = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
                return self.planner.latest_offset(start, max_bytes)

        def reportLatestOffset(self) -> Offset | None:
            """Where the log ended when that was last asked, and figures, for the query's progress; it asks nobody."""
            return self.planner.reported()

        def prepareForTriggerAvailableNow(self) -> None:
            """From now on the log's end that counts is the one found after the snapshot, or now."""
            self.planner.end_at_log_end()

else:
    StreamReader = BareReader
