"""The workers' side: reads one split and hands it to Spark as Arrow batches.

Python workers live from batch to batch, so what is expensive to make (connections, compiled decoders) is kept there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext

from cdckit.api.batch import Batch
from cdckit.api.marks import TableMark
from cdckit.api.notices import Notices
from cdckit.api.record import Record
from cdckit.api.source import Source, SourceContext, Split
from cdckit.api.source_counts import SourceCounts
from cdckit.engine.lineage.outputs import OutputWatch
from cdckit.engine.pipeline import Encoder, make_encoder, make_sink, make_source
from cdckit.engine.quarantine.delivery import TolerantEncoder
from cdckit.engine.quarantine.entries import Entries
from cdckit.engine.spark.arrow import to_arrow
from cdckit.engine.spark.failures import sealed_errors
from cdckit.engine.spark.faults import TaskFaults
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.kept_batches import KeptBatch
from cdckit.engine.spark.leading import may_write
from cdckit.engine.spark.notices import ProcessNotices
from cdckit.engine.spark.packets import message_packets, written_packet
from cdckit.engine.spark.relay import relayed
from cdckit.engine.spark.table_output import TableOutput
from cdckit.engine.spark.task_sink import OpenTaskSink
from cdckit.engine.spark.typed_rows import TypedRows
from cdckit.engine.spark.worker_cache import WorkerCache
from cdckit.tables.sink import SparkTableSink

if TYPE_CHECKING:
    from cdckit.engine.spark.ledger_inbox import TaskLedger

CHUNK = 2000
"""How many records at least are gathered for one Arrow batch, while the split has more ..."""
_OF_EACH_TABLE = 64
"""... and so many of each table on average, where these have packets of their own: one costs more than its rows ..."""
_MOST = 50_000
"""... up to so many ..."""
_CHUNK_BYTES = 8 << 20
"""... but no more once they took so much of the log."""
_UNKNOWN_BYTES = 4 << 20
"""What a batch that was not read from a log is taken for: sources make snapshots' batches of about so much at most."""

Output = Callable[[Sequence[Record], Sequence[TableMark]], Iterator[pa.RecordBatch]]
"""Turns records, given in order, and the marks that belong among them into the Arrow batches of a form."""


class _PartsAlone(Notices):
    """Passes on what only a reader knows; the planner tells the rest."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices

    def snapshot_part(self, data_collection: str, part: int, parts: int, rows: int, finished: bool) -> None:
        self._notices.snapshot_part(data_collection, part, parts, rows, finished)


class _Reading:
    """A source and what becomes of its records, ready to read any split of one query."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.counts = SourceCounts(wanted=job.measured)
        self.notices = relayed(job) or ProcessNotices()
        self.source: Source = make_source(job.pipeline)
        plain = make_encoder(job.pipeline, positions=True)
        self.faults = None
        if job.faults is not None:
            entries = Entries.of(job.pipeline, plain.chain)
            tables = job.form == "table rows"
            self.faults = TaskFaults(job.faults, entries, waits=job.pipeline.errors.waits, tables=tables)
        keeps_undecoded = self.faults is not None and job.pipeline.errors.keeps_undecoded
        context = SourceContext(
            job.pipeline.name,
            notices=_PartsAlone(self.notices),
            counts=self.counts,
            marks=job.marks,
            undecoded=self.faults.undecoded if self.faults is not None and keeps_undecoded else None,
        )
        self.source.open(context)
        if job.pipeline.lineage is not None:
            plain.chain.watch = OutputWatch(self.notices.written, rows=job.form == "table rows").see
        self.ledger = _task_ledger(job, plain)
        self._encoder = plain
        if self.faults is not None:
            self._encoder = TolerantEncoder(plain, self.faults, job.pipeline.serializer.registration.name)
        self._found: dict[str, bool] = {}

    def tell_found(self) -> None:
        """Tells what transforms have found among the topics' names, where that is new."""
        found = self._encoder.chain.found()
        if found != self._found:
            self._found = found
            self.notices.topics_found(found)

    def output(self, buckets: int, sink: OpenTaskSink | None) -> Output:
        """The output for one task, which writes its messages where it has the sink."""
        if self.job.form == "table rows":
            tables = make_sink(self.job.pipeline)
            assert isinstance(tables, SparkTableSink)
            rows = None if self.ledger is None else self.ledger.rows
            name = self.job.pipeline.sink.registration.name
            may_write, beside = self.job.shares_folders, self.job.spools
            encode = tables.task_encoder(beside_driver=beside) if may_write else tables.encoder()
            return TableOutput(encode, self._encoder.chain, self.faults, name, rows)
        if self.job.shape is not None:
            return TypedRows(self.job.shape, self._encoder.chain, marks=self.source.tells_marks)
        portions = self._encoder.portions
        if self.job.form == "messages":
            return lambda records, _: map(to_arrow, portions(records))
        if sink is not None:
            return lambda records, _: (written_packet(sink.write(messages)) for messages in portions(records))
        return lambda records, _: (message_packets(messages, buckets) for messages in portions(records))

    def batches(self, split: Split) -> Iterator[Batch]:
        """What a split holds: read now, or kept by the planner."""
        if not isinstance(split.payload, KeptBatch):
            yield from self.source.read(split)
            return
        for part in split.payload.parts(self.job.kept):
            if self.faults is not None:
                for piece in part.undecoded:
                    self.faults.undecoded(piece)
            yield Batch(part.records, None, log_bytes=part.log_bytes, marks=part.marks)

    def close(self) -> None:
        if self.ledger is not None:
            self.ledger.close()
        self.source.close()
        self._encoder.close()


def _task_ledger(job: Job, encoder: Encoder) -> TaskLedger | None:
    """What tells the driver of the rows; those of messages are taken from the encoder."""
    if job.ledger is None:
        return None
    from cdckit.engine.ledger.keeper import task_rows_of  # noqa: PLC0415 - it needs an extra
    from cdckit.engine.spark.ledger_inbox import TaskLedger  # noqa: PLC0415 - as above

    tables = job.form == "table rows"
    rows = task_rows_of(job.pipeline, tables=tables)
    if not tables:
        encoder.tap = rows.take_records
    return TaskLedger(job.ledger, rows)


_readings: WorkerCache[_Reading] = WorkerCache()


def read_splits(
    job: Job, splits: Sequence[Split], buckets: int, task: tuple[str, int] = ("", 0), leads: str = ""
) -> Iterator[pa.RecordBatch]:
    """The records of splits, one after another, as Arrow batches of the job's form.

    Args:
        job: the query.
        splits: what is read.
        buckets: how many shares of the keys packets are made for; 0: this task writes, where tasks do.
        task: the plan that this is of, and its number there.
        leads: names the batch whose first split this is, which one attempt may write as if it were the only one.

    Raises:
        WorkerError: a split cannot be read, decoded or encoded.
    """
    with sealed_errors(), _readings.use(job.token, lambda: _Reading(job)) as reading:
        if reading.faults is not None:
            reading.faults.begin()
        if reading.ledger is not None:
            reading.ledger.begin(*task)
        if leads and may_write(job, leads):
            buckets = 0
        with nullcontext() if buckets or job.task_sink is None else job.task_sink.writing() as sink:
            yield from _made(reading, splits, reading.output(buckets, sink))
        if reading.faults is not None:
            # Before the task ends, as Spark may commit the batch from then on: what is set aside has to be kept by
            # then.
            reading.faults.hand_over()
        if reading.ledger is not None:
            reading.ledger.end()
        if counts := reading.counts.take():
            reading.notices.counted(counts)
        reading.tell_found()


def get_ready(job: Job) -> None:
    """Opens what reads the splits of a query in this process, with all that their output takes.

    Raises:
        WorkerError: it cannot be opened.
    """
    with sealed_errors(), _readings.use(job.token, lambda: _Reading(job)) as reading:
        reading.output(0, None)


def _made(reading: _Reading, splits: Sequence[Split], output: Output) -> Iterator[pa.RecordBatch]:
    tables = output if isinstance(output, TableOutput) else None
    try:
        for split in splits:
            batches = reading.batches(replace(split, attempt=_attempt()))
            for records, marks in _chunks(batches, by_table=tables is not None):
                yield from output(records, marks)
                if reading.ledger is not None:
                    reading.ledger.tell()
        made = [] if tables is None else [*tables.rest()]
    except BaseException:
        if tables is not None:
            tables.drop()
        raise
    yield from made


def _attempt() -> int:
    """Which attempt at its split this task is; those of one task may overlap (`spark.speculation`)."""
    task = TaskContext.get()
    return 0 if task is None else task.attemptNumber()


def _chunks(
    batches: Iterator[Batch], *, by_table: bool = False
) -> Iterator[tuple[Sequence[Record], Sequence[TableMark]]]:
    """The source's batches put together: many small transactions make one Arrow batch.

    Args:
        batches: of one split.
        by_table: whether the rows of each table are packed by themselves.
    """
    gathered: list[Record] = []
    marks: list[TableMark] = []
    size, wanted = 0, CHUNK
    for batch in batches:
        gathered += batch.records
        marks += batch.marks
        # A snapshot's batches have no bytes of the log, and large rows would fill the memory by two thousands.
        size += batch.log_bytes or (_UNKNOWN_BYTES if batch.records else 0)
        if by_table and len(gathered) >= wanted:
            wanted = min(_MOST, max(CHUNK, _OF_EACH_TABLE * len({record.topic for record in gathered})))
        if len(gathered) >= wanted or size >= _CHUNK_BYTES:
            yield gathered, marks
            gathered, marks, size, wanted = [], [], 0, CHUNK
    if gathered or marks:
        yield gathered, marks
