"""Rows that a worker has read, put into its tables' data files where they are many, and sent to the driver else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pyarrow as pa

from cdckit.api.marks import RoutedMark
from cdckit.api.record import Record, lane_of
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.fitted_rows import fitted
from cdckit.tables.groups import Group
from cdckit.tables.lake.arrow_types import arrow_schema
from cdckit.tables.lake.data_files import DataFile, DataFiles, DataFileWriter
from cdckit.tables.lake.faults import Faults
from cdckit.tables.layout import Layout
from cdckit.tables.sink import Packet
from cdckit.tables.streams import arrow_stream

FilesOf: TypeAlias = Callable[[str, Sequence[str]], DataFiles | None]
"""Gives the data files of a topic's table for rows that have some columns; None: these are not to be put there."""

_GROUP_BYTES = 32 << 20
"""So much of a table waits at the most until it is written into its file, as a row group."""
_MOST_BYTES = 64 << 20
"""So much of all tables."""


@dataclass(slots=True)
class _Share:
    """The rows of one table and definition that a task has read."""

    topic: str
    layout: Layout
    position: str
    schema: pa.Schema
    batches: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    writer: DataFileWriter | None = None

    def add(self, layout: Layout, batch: pa.RecordBatch) -> None:
        """Takes rows of the same definition."""
        self.layout = replace(layout, ops="".join(sorted({*self.layout.ops, *layout.ops})))
        self.batches.append(batch)
        self.rows += batch.num_rows
        self.bytes += batch.nbytes

    @property
    def stays(self) -> bool:
        """Whether there are rows that wait, or a file that more may come into."""
        return bool(self.batches) or self.writer is not None

    def taken(self) -> pa.Table:
        """The rows that wait, which then wait no more."""
        rows = pa.Table.from_batches(self.batches, self.schema)
        self.batches, self.bytes = [], 0
        return rows

    def filed(self, file: DataFile) -> Packet:
        """The packet that tells of the file."""
        return Packet(self.topic, self.layout.dumps(), self.position, file.rows, file.dumps())

    def packets(self) -> Iterator[Packet]:
        """The rows as they are, in one packet."""
        for batch in self.taken().combine_chunks().to_batches():
            yield Packet(self.topic, self.layout.dumps(), self.position, batch.num_rows, arrow_stream(batch))


class GatheringTableEncoder:
    """Makes packets of the rows of changelogs, some of which name a data file that has the rows.

    Args:
        encoder: makes columns of records.
        files: gives the data files of tables.
        faults: how what goes wrong with files is told.
        least: so many bytes in memory a table's rows take at least that are put into a file. The driver puts together
            what all workers have of the others: one small file a batch in the place of one for each worker.
    """

    def __init__(self, encoder: TableEncoder, files: FilesOf, faults: Faults, least: int) -> None:
        self._encoder = encoder
        self._files = files
        self._faults = faults
        self._least = least
        self._open: dict[tuple[str, ...], _Share] = {}
        self._ended: list[_Share] = []
        self._closed: list[DataFileWriter] = []

    def __call__(self, records: Sequence[Record]) -> Iterable[Packet]:
        """Takes records; what has to come by itself is given at once."""
        groups, told = self._encoder.gathered(records)
        made = [(group, *_columns(group)) for group in groups]  # before any is kept: one may be at fault
        packets = [group.packet() for group, schema, *_ in made if schema is None]
        for group, schema, layout, batch in made:
            if schema is not None:
                self._share(group, schema, layout).add(layout, batch)
        return [*packets, *(mark.packet(topic) for topic, mark in told)]

    def mark(self, mark: RoutedMark) -> Packet:
        """The packet of a table mark; what comes behind it does not go into the file of what came before."""
        for place in [place for place in self._open if place[0] == mark.topic]:
            self._ended.append(self._open.pop(place))
        return self._encoder.mark(mark)

    def _share(self, group: Group, schema: pa.Schema, layout: Layout) -> _Share:
        place = group.topic, layout.kind, layout.source, lane_of(group.position)
        found = self._open.get(place)
        if found is not None and replace(found.layout, ops=layout.ops) != layout:
            self._ended.append(self._open.pop(place))
            found = None
        if found is None:
            found = self._open[place] = _Share(group.topic, layout, group.position, schema)
        return found

    def flushed(self, *, last: bool) -> Iterable[Packet]:
        """Bounds what waits; at the end all of it is written or given.

        Raises:
            SinkError: a file cannot be written.
        """
        shares = [*self._ended, *self._open.values()]
        full = last or sum(share.bytes for share in shares) >= _MOST_BYTES
        packets: list[Packet] = []
        for share in shares:
            large = share.bytes >= (self._least if full else _GROUP_BYTES)
            writer = self._writer(share) if large else share.writer
            if writer is not None and (full or large):
                self._write(share, writer)
            elif full or large:
                packets += share.packets()
            if last and writer is not None:
                packets.append(self._close(share, writer))
        self._ended = [share for share in self._ended if share.stays and not last]
        self._open = {place: share for place, share in self._open.items() if share.stays and not last}
        return packets

    def _writer(self, share: _Share) -> DataFileWriter | None:
        """What writes the share's file; None: its rows are not to be put into one."""
        if share.writer is None:
            with self._faults.told(share.topic):
                files = self._files(share.topic, share.schema.names)
                share.writer = None if files is None else files.writer(share.schema)
        return share.writer

    def _write(self, share: _Share, writer: DataFileWriter) -> None:
        if share.batches:
            with self._faults.told(share.topic):
                writer.write(share.taken())

    def _close(self, share: _Share, writer: DataFileWriter) -> Packet:
        with self._faults.told(share.topic):
            self._closed.append(writer)
            return share.filed(writer.close())

    def drop(self) -> None:
        """Removes the files, of which the driver is not to hear."""
        begun = (share.writer for share in (*self._ended, *self._open.values()) if share.writer is not None)
        for writer in {*self._closed, *begun}:
            writer.drop()
        self._open, self._ended, self._closed = {}, [], []


def _columns(group: Group) -> tuple[pa.Schema | None, Layout, pa.RecordBatch]:
    """A group's rows with the columns of its layout; no schema: they are sent as they are, for the driver to judge."""
    layout, rows = group.batch()
    batch = pa.record_batch(rows)
    if layout.kind == "truncate":  # its position counts
        return None, layout, batch
    try:
        schema = pa.schema(arrow_schema(dict(layout.columns)))
        return schema, layout, pa.record_batch(fitted(rows, schema, {}, ()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        return None, layout, batch
