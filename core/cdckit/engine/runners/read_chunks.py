"""Chunks of incremental snapshots that tables have, and that no saved offset is behind.

A chunk that is read again stands elsewhere in the log, and so do its rows: positions do not tell that a table has them.
But the table has the number of a batch, and the offset which that ends at says which chunks lie before it. So these are
not read again. All that has happened to their rows since is in the log behind the saved offset, of which the table
takes what it lacks: rows of a chunk and their later changes come to the source, whenever it was read.
"""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.api.batch import Batch
from cdckit.api.record import Offset, Record
from cdckit.api.source import Source
from cdckit.api.struct import Struct
from cdckit.engine.state.table_batches import TableBatches
from cdckit.tables.direct import DirectTableSink

_INCREMENTAL = "incremental"
"""What a source block says in `snapshot` of a row of a chunk."""


class ReadChunks:
    """Those of one pipeline.

    Args:
        source: says which chunks lie between two offsets.
        sink: says which batches tables have.
        batches: those that were begun.

    Attributes:
        topics: those of the rows of chunks that have come since the saved offset.
    """

    def __init__(self, source: Source, sink: DirectTableSink, batches: TableBatches) -> None:
        self.topics: set[str] = set()
        self._source = source
        self._sink = sink
        self._batches = batches

    def rows(self, at: Offset | None, batch: Batch) -> Sequence[Record]:
        """The rows of chunks that a batch holds, which comes behind an offset."""
        if at is None or batch.offset is None or self._source.with_chunks(at, batch.offset) == at:
            return ()
        return [record for record in batch.records if is_of_chunk(record)]

    def went(self, rows: Sequence[Record], records: Sequence[Record]) -> None:
        """Notes where rows of chunks have gone by the records that transforms have made."""
        if places := {row.position for row in rows}:
            self.topics.update(record.topic for record in records if record.position in places)

    def behind(self, saved: Offset | None) -> Offset | None:
        """The saved offset, behind the chunks, too, that all tables have which their rows go to.

        Raises:
            SinkError: a table cannot be looked at.
        """
        begun = self._batches.begun
        topics = {topic for one in begun for topic in one.chunk_topics}
        if saved is None or not topics:
            return saved
        # Between two saved offsets lie chunks of one table. Where its rows go to several topics, one of which lacks a
        # batch, a number that is greater need not have more chunks behind it: they are read again then.
        numbers = {self._sink.last_begun(topic) for topic in topics}
        ends = [one.end for one in begun if numbers == {one.number}]
        return self._source.with_chunks(saved, ends[0]) if ends and ends[0] is not None else saved

    def forget(self) -> None:
        """The saved offset is behind all that has come, or all comes again."""
        self.topics.clear()


def is_of_chunk(record: Record) -> bool:
    """Whether a record, as a source gives it, is a row of a chunk."""
    source = record.value.get("source") if isinstance(record.value, Struct) else None
    return isinstance(source, Struct) and source.get("snapshot") == _INCREMENTAL
