"""Tables in a lake whose rows Spark's workers read, decode and transform, and its driver writes, by the code of `sink`.

A batch that Spark repeats is passed over by the tables that have its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cdckit.api.held import Images
from cdckit.errors import RetriableSinkError, RowsRefusedError
from cdckit.tables.context import TableContext
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.lake.sink import LakeSink
from cdckit.tables.sink import Packet, SparkTableSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TOGETHER = 32 << 20
"""So many bytes of packets, which are compressed, come to the driver together; of more a partition at a time."""
_COLUMNS = ("topic", "layout", "position", "rows", "data", "mark")
_FIRST = (
    *("topic", "layout", "position", "rows", "if(bucket > 0, null, data) data", "mark"),
    "if(bucket > 0, octet_length(data), 0) later",
)
"""Those packets whole that may come at once, and of others how large they are."""


class LakeOnSpark(SparkTableSink):
    """Keeps the tables of a sink that writes by itself.

    Args:
        sink: the sink, which is this one's alone.
    """

    follows_marks = True

    def __init__(self, sink: LakeSink) -> None:
        self._sink = sink
        self.mirrors = sink.mirrors
        self.commit_interval_ms = sink.commit_interval_ms

    def encoder(self) -> TableEncoder:
        """Typed rows, as the sink gathers them where no Spark is."""
        config = self._sink.config
        return TableEncoder(config.mode, config.unavailable_value_placeholder, config.declared_columns)

    def open(self, session: SparkSession, context: TableContext) -> None:
        """Opens the sink, whose batches have the numbers of Spark's."""
        self._context = context
        self._sink.open(context)
        self._sink.begin(context.generation, ())

    def rehearse(self, packets: DataFrame) -> None:
        """Fetches what there is, as `write` does."""
        packets = packets.persist()
        try:
            for _ in _fetched(packets):
                pass
        finally:
            packets.unpersist()

    def write(self, packets: DataFrame, batch: int) -> int:
        """Fetches the rows, and writes the tables at the same time; what others hold up is tried again."""
        packets = packets.persist()
        try:
            for packet in _fetched(packets):
                self._sink.take(packet)
        except BaseException:
            self._sink.drop()
            raise
        finally:
            packets.unpersist()
        return self._committed(batch)

    def _committed(self, batch: int) -> int:
        try:
            while True:
                try:
                    return self._sink.commit(batch, again=True)
                except RetriableSinkError as error:
                    self._sink.look_again()
                    self._context.pause(error)
                except RowsRefusedError:
                    self._sink.look_again()  # the same batch comes again without these rows
                    raise
        finally:
            self._sink.drop()

    def images(self) -> Images:
        """What reads the tables back, which `open` is not needed for."""
        return self._sink.images()

    def close(self) -> None:
        """Closes the sink."""
        self._sink.close()


def _fetched(packets: DataFrame) -> Iterator[Packet]:
    """The packets of a batch, which all workers make at the same time."""
    shown = [*_rows(packets.selectExpr(*_FIRST))]
    if not any(later for *_, later in shown):
        yield from (Packet(*row) for *row, _ in shown)
        return
    # Not the others alone: a task whose packets were lost meanwhile makes them anew, and need not make the same.
    size = sum(len(data or b"") + later for *_, data, _, later in shown)
    wanted = packets.select(*_COLUMNS)
    rows = wanted.toLocalIterator(prefetchPartitions=True) if size > _TOGETHER else _rows(wanted)
    yield from (Packet(*row) for row in rows)


def _rows(frame: DataFrame) -> Iterator[Sequence[Any]]:
    for batch in frame.toArrow().to_batches():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
