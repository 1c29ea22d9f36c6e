"""Packets of a sink that keeps tables, made by one task of a worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from cdckit.api.marks import RoutedMark, TableMark
from cdckit.api.record import Record
from cdckit.engine.chain import TransformChain
from cdckit.engine.mark_routes import MarkRoutes
from cdckit.engine.quarantine.rows import TolerantRows
from cdckit.engine.spark.faults import TaskFaults
from cdckit.tables.packets import table_packets
from cdckit.tables.pieces import REDEFINING, pieces
from cdckit.tables.sink import GatheringEncoder, Packet, RowEncoder

if TYPE_CHECKING:
    from cdckit.engine.ledger.task_rows import TaskRows


class TableOutput:
    """Makes them.

    Args:
        encode: the sink's.
        chain: the transforms.
        faults: takes records that cannot be rows; None: such a record ends the task.
        sink: what the sink is called.
        rows: takes what is read, for a pipeline with a ledger, which sets no record aside.
    """

    def __init__(
        self,
        encode: RowEncoder,
        chain: TransformChain,
        faults: TaskFaults | None,
        sink: str,
        rows: TaskRows | None = None,
    ) -> None:
        self._encode = encode
        self._gathers = encode if isinstance(encode, GatheringEncoder) else None
        self._chain = chain
        self._faults = faults
        self._sink = sink
        self._rows = rows
        self._routes = MarkRoutes(chain)
        self._bytes = 0
        self._tolerant = None if faults is None else TolerantRows(self._made, faults, sink)

    def __call__(self, records: Sequence[Record], marks: Sequence[TableMark]) -> Iterator[pa.RecordBatch]:
        """The packets of records, and of the marks among them, as they are ready."""
        packets = [*self._packets(records, marks)]
        if self._gathers is not None:
            packets += self._gathers.flushed(last=False)
            if not packets:
                return
        yield self._given(packets)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Those of all that has waited."""
        if self._gathers is not None:
            yield self._given([*self._gathers.flushed(last=True)])

    def drop(self) -> None:
        """Removes what the sink is not to find, as the task has failed."""
        if self._gathers is not None:
            self._gathers.drop()

    def _given(self, packets: Sequence[Packet]) -> pa.RecordBatch:
        batch = table_packets(packets, self._bytes)
        self._bytes += sum(len(packet.data) for packet in packets)
        return batch

    def _packets(self, records: Sequence[Record], marks: Sequence[TableMark]) -> Iterator[Packet]:
        if self._rows is not None:
            behind, routed = self._chain.apply(records), self._routed(marks)
            self._rows.take_records(behind, routed)
            for piece in pieces(behind, routed, REDEFINING):
                yield from self._encode(piece.records)
                yield from map(self._encode.mark, piece.marks)
            return
        for part in pieces(records, marks, REDEFINING):
            yield from self._of_records(part.records)
            yield from map(self._encode.mark, self._routed(part.marks))

    def _of_records(self, records: Sequence[Record]) -> Iterable[Packet]:
        if self._faults is None or self._tolerant is None:
            return self._made(records)
        return self._tolerant(self._faults.taken_by_tables(records, self._sink))

    def _routed(self, marks: Sequence[TableMark]) -> list[RoutedMark]:
        return [one for mark in marks for one in self._routes.of(mark)]

    def _made(self, records: Sequence[Record]) -> Iterable[Packet]:
        return self._encode(self._chain.apply(records))
