"""The workers' side: reads one split and hands it to Spark as Arrow batches.

Python workers live from batch to batch, so what is expensive to make (connections, compiled decoders) is kept there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from cdckit.chain import make_chain
from cdckit.pipeline import make_encoder, make_sink, make_source
from cdckit.record import Record
from cdckit.source import Source, SourceContext, Split
from cdckit.spark.arrow import to_arrow
from cdckit.spark.failures import sealed_errors
from cdckit.spark.job import Form, Job
from cdckit.spark.kept import Kept
from cdckit.spark.relay import connect
from cdckit.spark.tables import Packet, SparkTableSink, packets_to_arrow

CHUNK = 2000
"""How many records at least are gathered for one Arrow batch, while the split has more."""


class Output(Protocol):
    """Turns records, given in order, into the Arrow batches of one form."""

    def __call__(self, records: Sequence[Record]) -> pa.RecordBatch:
        """The batch that the records become."""


class _Reading:
    """A source and an output, ready to read any split of one query."""

    def __init__(self, job: Job) -> None:
        if job.relay:
            connect(job.relay, job.log_level)
        self.source: Source = make_source(job.pipeline)
        self.source.open(SourceContext(job.pipeline.name))
        self.output = _output(job)

    def close(self) -> None:
        self.source.close()


_readings: Kept[_Reading] = Kept()


def read_split(job: Job, split: Split) -> Iterator[pa.RecordBatch]:
    """The split's records as Arrow batches of the job's form.

    Raises:
        WorkerError: the split cannot be read, decoded or encoded.
    """
    with sealed_errors(), _readings.use(job.token, lambda: _Reading(job)) as reading:
        for records in _chunks(reading.source, split):
            yield reading.output(records)


def _chunks(source: Source, split: Split) -> Iterator[Sequence[Record]]:
    """The source's batches put together: many small transactions make one Arrow batch."""
    gathered: list[Record] = []
    for batch in source.read(split):
        gathered += batch.records
        if len(gathered) >= CHUNK:
            yield gathered
            gathered = []
    if gathered:
        yield gathered


def _output(job: Job) -> Output:
    made: dict[Form, type[_MessageRows | _PackedMessages | _TableRows]] = {
        "messages": _MessageRows,
        "packed messages": _PackedMessages,
        "table rows": _TableRows,
    }
    return made[job.form](job)


class _MessageRows:
    """A row for each message. Its position stays, whether or not the sink shows it: the shuffle sorts by it."""

    def __init__(self, job: Job) -> None:
        encoder = make_encoder(job.pipeline)
        self.transform = encoder.chain.apply
        self.serialize = encoder.serializer.serialize

    def __call__(self, records: Sequence[Record]) -> pa.RecordBatch:
        return to_arrow(self.serialize(self.transform(records)))


class _PackedMessages(_MessageRows):
    """One packet for a chunk of messages."""

    def __call__(self, records: Sequence[Record]) -> pa.RecordBatch:
        return packets_to_arrow([Packet("", "", "", super().__call__(records))])


class _TableRows:
    """The packets that the pipeline's table sink makes."""

    def __init__(self, job: Job) -> None:
        sink = make_sink(job.pipeline)
        assert isinstance(sink, SparkTableSink)
        self.transform = make_chain(job.pipeline.transforms).apply
        self.encode = sink.encoder()

    def __call__(self, records: Sequence[Record]) -> pa.RecordBatch:
        return packets_to_arrow(self.encode(self.transform(records)))
