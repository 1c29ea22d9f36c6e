"""The workers' side: reads one split and hands it to Spark as Arrow batches.

Python workers live from batch to batch, so what is expensive to make (connections, compiled decoders) is kept there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from cdckit.pipeline import make_encoder, make_sink, make_source
from cdckit.record import Record
from cdckit.source import Source, SourceContext, Split, silent
from cdckit.source_counts import SourceCounts
from cdckit.spark.arrow import to_arrow
from cdckit.spark.failures import sealed_errors
from cdckit.spark.job import Job
from cdckit.spark.kept import Kept
from cdckit.spark.packets import message_packets, table_packets
from cdckit.spark.relay import relayed
from cdckit.spark.tables import SparkTableSink

CHUNK = 2000
"""How many records at least are gathered for one Arrow batch, while the split has more."""


Output = Callable[[Sequence[Record]], pa.RecordBatch]
"""Turns records, given in order, into the Arrow batches of a form."""


class _Reading:
    """A source and what becomes of its records, ready to read any split of one query."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.counts = SourceCounts(wanted=job.measured)
        self.tell = relayed(job) or silent
        self.source: Source = make_source(job.pipeline)
        self.source.open(SourceContext(job.pipeline.name, notify=self._notify, counts=self.counts))
        self._encoder = make_encoder(job.pipeline)

    def _notify(self, notice: str, /, **facts: Any) -> None:
        """Passes on what only a reader knows; the planner tells the rest."""
        if notice == "snapshot_part":
            self.tell(notice, **facts)

    def output(self, *, alone: bool) -> Output:
        """The output for one split."""
        apply = self._encoder.chain.apply
        if self.job.form == "table rows":
            sink = make_sink(self.job.pipeline)
            assert isinstance(sink, SparkTableSink)
            encode = sink.encoder()
            return lambda records: table_packets(encode(apply(records)))
        serialize = self._encoder.serializer.serialize
        if self.job.form == "messages":
            return lambda records: to_arrow(serialize(apply(records)))
        buckets = 1 if alone else self.job.buckets
        return lambda records: message_packets(serialize(apply(records)), buckets)

    def close(self) -> None:
        self.source.close()
        self._encoder.close()


_readings: Kept[_Reading] = Kept()


def read_split(job: Job, split: Split, *, alone: bool) -> Iterator[pa.RecordBatch]:
    """The split's records as Arrow batches of the job's form.

    Args:
        job: the query.
        split: what is read.
        alone: whether it is the only split of its batch.

    Raises:
        WorkerError: the split cannot be read, decoded or encoded.
    """
    with sealed_errors(), _readings.use(job.token, lambda: _Reading(job)) as reading:
        output = reading.output(alone=alone)
        for records in _chunks(reading.source, split):
            yield output(records)
        if counts := reading.counts.take():
            reading.tell("counted", counts=counts)


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
