"""How one batch of a query reaches the sink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar
from uuid import uuid4

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from cdckit.api.sink import Sink, SinkContext, TableSink
from cdckit.connector.resnapshot import KEPT_AS as RESNAPSHOT, Resnapshot
from cdckit.engine.accepted import KEPT_AS as ACCEPTED, acceptances
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.notices import RunNotices
from cdckit.engine.pipeline import make_encoder, make_sink, make_source, sink_context
from cdckit.engine.quarantine.entries import Entries
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.spark.failures import sealed_errors
from cdckit.engine.spark.faults import TaskFaults
from cdckit.engine.spark.job import Form
from cdckit.engine.spark.packets import messages_of
from cdckit.engine.spark.worker_cache import Kept
from cdckit.engine.spark.writer import Address, SinkWriter, host_of, send_all
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import Generation
from cdckit.errors import ConfigError, RetriableSinkError
from cdckit.tables.context import TableContext
from cdckit.tables.sink import SparkTableSink


class Delivery(ABC):
    """Puts batches into a sink. It is used by one thread at a time."""

    form: ClassVar[Form]
    """What the workers must hand on for it."""

    delta: bool = False
    """Whether the session needs Delta Lake."""

    once_each: bool = True
    """Whether a task may run only once at a time, for what it writes is there at once."""

    shared: bool = False
    """Whether several tasks write, each its share of the keys."""

    marks: bool = False
    """Whether it takes table marks."""

    mirrors: bool = False
    """Whether it keeps tables that are to equal the source's."""

    interval_ms: int = 0
    """How long, in milliseconds, changes are gathered for one batch; 0: as they come."""

    def open(self, session: SparkSession, generation: Generation, faults: Address | None = None) -> None:
        """Gets ready; nothing to do by default.

        Args:
            session: where batches come from.
            generation: the checkpoint that counts them.
            faults: where the driver takes what the sink's target will never take; None: it stops the pipeline.
        """

    @abstractmethod
    def deliver(self, frame: DataFrame, batch: int) -> int:
        """Returns once the batch is safe in the sink, and says how many records it held.

        Raises:
            CdcError: the sink did not take it.
        """

    def close(self) -> None:
        """Lets go of all resources; nothing to do by default."""


def make_delivery(pipeline: ResolvedPipeline, *, once: bool, stopping: StopSignal) -> Delivery:
    """The delivery that fits the pipeline's sink.

    Raises:
        ConfigError: a package is missing, or the sink is of a kind that this runner does not know.
    """
    sink = make_sink(pipeline)
    if isinstance(sink, SparkTableSink):
        return TableDelivery(pipeline, sink, stopping)
    if isinstance(sink, TableSink):
        raise ConfigError(f"sink.type: '{pipeline.sink.registration.name}' keeps tables, but not through Spark")
    if sink.in_tasks:
        return TaskDelivery(pipeline, once=once)
    return WriterDelivery(pipeline, sink, once=once, stopping=stopping)


class TaskDelivery(Delivery):
    """Every task writes its own share: where several splits were read, whole buckets of keys, sorted."""

    form = "packed messages"
    shared = True

    def __init__(self, pipeline: ResolvedPipeline, *, once: bool) -> None:
        self.pipeline = pipeline
        self.once = once

    def open(self, session: SparkSession, generation: Generation, faults: Address | None = None) -> None:
        """Makes what the tasks do."""
        self.write_share = _share_writer(self.pipeline, uuid4().hex, faults, once=self.once)

    def deliver(self, frame: DataFrame, batch: int) -> int:
        """Writes the batch from the tasks; each flushes before it ends."""
        if frame.rdd.getNumPartitions() > 1:
            frame = frame.repartition("bucket").sortWithinPartitions("position")
        counts = frame.select("data").mapInArrow(self.write_share, "records bigint").collect()
        return sum(row.records for row in counts)


class _OpenSink:
    """A sink in a worker process."""

    def __init__(self, pipeline: ResolvedPipeline, faults: Address | None, *, once: bool) -> None:
        sink = make_sink(pipeline)
        assert isinstance(sink, Sink)
        self.sink = sink
        self._faults = _faults_of(pipeline, faults)
        try:
            sink.open(_context(pipeline, self._faults, once=once))
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
        if self._faults is not None:
            self._faults.hand_over()

    def close(self) -> None:
        self.sink.close()


_sinks: Kept[_OpenSink] = Kept()


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
            opened.flush()
        yield pa.RecordBatch.from_pydict({"records": [records]})

    return write_share


def _faults_of(pipeline: ResolvedPipeline, address: Address | None) -> TaskFaults | None:
    return None if address is None else TaskFaults(address, Entries.of(pipeline))


def _context(
    pipeline: ResolvedPipeline,
    faults: TaskFaults | None,
    *,
    once: bool,
    stopping: Callable[[], bool] = lambda: False,
) -> SinkContext:
    refused = None if faults is None else faults.message_failed
    return sink_context(pipeline.name, make_encoder(pipeline).serializer, once=once, stopping=stopping, refused=refused)


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

    def open(self, session: SparkSession, generation: Generation, faults: Address | None = None) -> None:
        """Opens the sink."""
        self.faults = _faults_of(self.pipeline, faults)
        self.sink.open(_context(self.pipeline, self.faults, once=self.once, stopping=self.stopping))
        self.writer = SinkWriter(self.sink, host_of(session), position_header=self.pipeline.position_header)

    def deliver(self, frame: DataFrame, batch: int) -> int:
        """Writes the batch and flushes."""
        frame = frame.persist(StorageLevel.DISK_ONLY)
        try:
            records: int = sum(row.rows for row in frame.select("rows").collect())
            if records:
                self._write(frame)
        finally:
            frame.unpersist()
        self.sink.flush()
        if self.faults is not None:
            self.faults.hand_over()
            self.faults.begin()
        return records

    def _write(self, frame: DataFrame) -> None:
        assert self.writer is not None
        address = self.writer.address

        def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with sealed_errors():
                send_all(address, batches)
            yield pa.RecordBatch.from_pydict({"sent": [True]})

        try:
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

    def open(self, session: SparkSession, generation: Generation, faults: Address | None = None) -> None:
        """Opens the sink, which refuses no single record."""
        source = self.pipeline.source_config
        context = TableContext(
            self.pipeline.name,
            generation.id,
            skipped=source.skipped,
            partial_updates=source.partial_updates,
            marks=self.told,
            pause=self._pause,
            read_again=self._read_again,
            accepted=lambda: acceptances(self.state.kept(ACCEPTED)),
            activity=RunNotices(self.pipeline.name).activity,
        )
        self.sink.open(session, context)

    def deliver(self, frame: DataFrame, batch: int) -> int:
        """Hands the packets to the sink."""
        self.retries = Retries(self.schedule, self.stopping)
        self.retries.reached()
        return self.sink.write(frame, batch)

    def _read_again(self) -> dict[str, str]:
        wanted = Resnapshot.from_json(self.state.kept(RESNAPSHOT))
        return {} if wanted is None else dict.fromkeys(wanted.tables, wanted.id)

    def _pause(self, error: RetriableSinkError) -> None:
        """Waits as after a fault of the source; not once the pipeline is to stop."""
        self.retries.pause(error)
        if self.stopping():
            raise error

    def close(self) -> None:
        """Closes the sink."""
        self.sink.close()
