"""A sink that the driver writes, alone: in plain batches, or each batch as one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from cdckit.api.messages import Messages
from cdckit.api.sink import Sink
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.quarantine.delivery import TolerantSink
from cdckit.engine.runners.sink_offset import SinkOffset
from cdckit.engine.spark.delivery import Delivery
from cdckit.engine.spark.failures import sealed_errors
from cdckit.engine.spark.faults import TaskFaults
from cdckit.engine.spark.inbox import Address, host_of
from cdckit.engine.spark.task_context import task_context, task_faults
from cdckit.engine.spark.writer import SinkWriter, send_all
from cdckit.engine.state.generation import Generation
from cdckit.engine.state.spark_checkpoint import Folder, planned_end

log = logging.getLogger("cdckit.runner")


class WriterDelivery(Delivery):
    """One writer, in the driver. The splits are read together, and written one after another in the log's order."""

    form = "packed messages"

    def __init__(self, pipeline: ResolvedPipeline, sink: Sink, *, once: bool, stopping: Callable[[], bool]) -> None:
        self.pipeline = pipeline
        self.sink = sink
        self.once = once
        self.stopping = stopping
        self.faults: TaskFaults | None = None
        self.writer: SinkWriter | None = None

    def open(
        self,
        session: SparkSession,
        generation: Generation,
        checkpoint: Folder,
        faults: Address | None = None,
    ) -> None:
        """Opens the sink."""
        self.faults = task_faults(self.pipeline, faults)
        if self.faults is not None:
            self.sink = TolerantSink(self.sink, self.faults, waits=self.pipeline.errors.waits)
        self.sink.open(task_context(self.pipeline, self.faults, once=self.once, stopping=self.stopping))
        self._listen(session)

    def _listen(self, session: SparkSession, begun: Callable[[], object] = lambda: None) -> None:
        host, position_header = host_of(session), self.pipeline.position_header
        self.writer = SinkWriter(self.sink, host, position_header=position_header, begun=begun)

    def deliver(self, frame: DataFrame, batch: int) -> int:
        """Writes the batch and flushes."""
        if self.faults is not None:
            self.faults.begin()
        records = self._written(frame)
        self.sink.flush()
        return records

    def _written(self, frame: DataFrame) -> int:
        # Two jobs go over it: without this the source would be read twice.
        frame = frame.persist(StorageLevel.DISK_ONLY)
        try:
            records: int = sum(row.rows for row in frame.select("rows").collect())
            if records:
                self._write(frame)
        finally:
            frame.unpersist()
        return records

    def _write(self, frame: DataFrame) -> None:
        assert self.writer is not None
        address, ticket = self.writer.address, self.writer.expect()

        def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with sealed_errors():
                send_all(address, ticket, batches)
            yield pa.RecordBatch.from_pydict({"sent": [True]})

        try:
            # The splits have been read at the same time, to be counted; here one task hands them on, in the log's
            # order.
            frame.select("data").coalesce(1).mapInArrow(send, "sent boolean").collect()
        except Exception:
            if self.writer.fault is not None:
                raise self.writer.fault from None
            raise

    def close(self) -> None:
        """Closes the sink."""
        if self.writer is not None:
            self.writer.close()
        self.sink.close()


class TransactionDelivery(WriterDelivery):
    """The same with each batch in one transaction, which also has the batch's number and the offset behind it.

    A batch that is repeated is passed over where the last transaction has it. What was written of one that failed is
    taken back before anything is written again, also where a task is repeated.
    """

    def __init__(self, pipeline: ResolvedPipeline, sink: Sink, *, once: bool, stopping: Callable[[], bool]) -> None:
        self._refused = None if pipeline.errors.tolerance == "none" else _Refused()
        super().__init__(
            pipeline,
            sink if self._refused is None else TolerantSink(sink, self._refused, waits=pipeline.errors.waits),
            once=once,
            stopping=stopping,
        )
        transactions = self.sink.transactions
        assert transactions is not None  # it is made for such a sink
        self.interval_ms = transactions.interval_ms or 0
        self._kept = SinkOffset(transactions, pipeline)
        self._in_doubt = False
        """Whether the sink may have more than what was committed."""

    def offset_kept(self) -> SinkOffset:
        """Opens the sink, after which an older driver can write no more."""
        self.sink.open(task_context(self.pipeline, None, once=self.once, stopping=self.stopping))
        return self._kept

    def open(
        self, session: SparkSession, generation: Generation, checkpoint: Folder, faults: Address | None = None
    ) -> None:
        """Listens for tasks."""
        if self._refused is not None:
            self._refused.faults = task_faults(self.pipeline, faults)
        self._generation, self._checkpoint = generation.id, checkpoint
        self._listen(session, self._begin)

    def deliver(self, frame: DataFrame, batch: int) -> int:
        """Writes the batch and commits it, or passes it over."""
        assert self.writer is not None
        self.writer.expect()
        self._take_back()
        if self._kept.has_batch(self._generation, batch):
            log.info("batch %d is in the sink already: it is passed over", batch)
            if self.ledger is not None:
                self.ledger.passes_over(batch)
            return 0
        if self._refused is not None:
            self._refused.begin()
        records = self._written(frame)
        if self.ledger is not None:
            # Before the transaction ends: a batch that the sink has is never read again.
            self.ledger.ends(batch)
        self._in_doubt = True
        self._kept.commit(planned_end(self._checkpoint, batch), (self._generation, batch))
        self._in_doubt = False
        return records

    def _begin(self) -> None:
        """A task begins to send, for the first time or once more."""
        self._take_back()
        self._in_doubt = True

    def _take_back(self) -> None:
        if self._in_doubt:
            self._kept.rollback()
            self._in_doubt = False


class _Refused:
    """Has the driver keep what the sink's target never takes, before the transaction that lacks it is committed."""

    def __init__(self) -> None:
        self.waiting: dict[str, str] = {}
        self.faults: TaskFaults | None = None

    def begin(self) -> None:
        """Another batch is written: asks the driver what waits."""
        assert self.faults is not None  # batches come once the delivery is open
        self.faults.begin()
        self.waiting = self.faults.waiting

    def message_failed(self, message: Messages, reason: str) -> None:
        assert self.faults is not None  # tasks send once the delivery is open
        self.faults.message_failed(message, reason)

    def due_messages(self, messages: Messages) -> Messages:
        assert self.faults is not None  # as above
        return self.faults.due_messages(messages)

    def sync(self) -> None:
        if self.faults is not None:
            self.faults.sync()
