"""What a batch holds for one table, and its typed rows out of the packets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, functions as f
from pyspark.sql.types import StructType

from cdckit import MarkKind, lane_of
from cdckit.tables.definitions import Fitting, Places
from cdckit.tables.documents import DOCUMENT, DeclaredColumn, with_columns
from cdckit.tables.fitted_rows import fitted, moved_to
from cdckit.tables.lake.data_files import DataFile, DataFiles, FiledRows
from cdckit.tables.lake.rows import Held, Part
from cdckit.tables.layout import Layout
from cdckit.tables.marks import Mark, left_marks
from cdckit.tables.sink import Packet
from cdckit.tables.streams import rows_of
from cdckit.tables.target import Columns, quoted
from cdckit.tables.types import column_type
from cdckit_spark.names import sql_type
from cdckit_spark.release import arrow_schema

_UNCUT = frozenset({MarkKind.SNAPSHOT_BEGIN, MarkKind.SNAPSHOT_END})
"""All rows that a snapshot reads of a table lie between these."""


class Heading(NamedTuple):
    """What packets of one layout, and of one lane, say of themselves.

    Attributes:
        position: of the first row.
        layout: what the rows have in common.
        rows: how many there are.
        last: the position of the last packet's first row.
        packed_bytes: how large the packets are, compressed.
        filed: whether they have the names of data files in the place of rows.
    """

    position: str
    layout: Layout
    rows: int
    last: str
    packed_bytes: int
    filed: bool = False


@dataclass(frozen=True, slots=True)
class TableRows:
    """What a batch holds for one table.

    Attributes:
        packets: the batch's, those of other tables among them.
        topic: whose packets of these are the table's.
        headings: what the packets say of themselves.
        marks: the table marks among the rows.
        inferred: columns to read out of the documents besides.
        held: the rows themselves, where they were brought to the driver.
        made: packets that the driver has made besides.
        files: the table's data files, of which workers may have written some.
    """

    packets: DataFrame
    topic: str
    headings: Sequence[Heading]
    marks: Sequence[Mark] = ()
    inferred: Sequence[DeclaredColumn] = ()
    held: Sequence[Part] | None = None
    made: Sequence[Packet] = ()
    files: DataFiles | None = None

    @property
    def _own(self) -> DataFrame:
        """The table's packets; made when they are read, since each such frame has its price and most are never read."""
        own = self.packets.where(f.col("topic") == self.topic).select("data", "position", "layout")
        if not self.made:
            return own
        made = [(packet.data, packet.position, packet.layout) for packet in self.made]
        others = self.packets.sparkSession.createDataFrame(made, "data binary, position string, layout string")
        return own.unionByName(others.coalesce(1))

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(heading.rows for heading in self.headings)

    @property
    def filed(self) -> bool:
        """Whether some are in data files."""
        return any(heading.filed for heading in self.headings)

    def file_of(self, data: bytes) -> FiledRows | None:
        """The data file that a packet names; None where it has rows."""
        file = DataFile.loads(data)
        return None if file is None or self.files is None else FiledRows(file, self.files)

    @property
    def packed_bytes(self) -> int:
        """How large the packets are together, compressed."""
        return sum(heading.packed_bytes for heading in self.headings)

    @property
    def sources(self) -> set[str]:
        """The sources of whole rows."""
        return {head.layout.source for head in self.headings if head.layout.kind == "rows"}

    @property
    def cut(self) -> bool:
        """Whether marks may cut the rows into segments."""
        return any(mark.kind not in _UNCUT for mark in self.marks)

    @property
    def layouts(self) -> list[tuple[str, Layout]]:
        """Each layout with the position of its first row, lane by lane."""
        first: dict[tuple[str, Layout], str] = {}
        for head in self.headings:
            place = (lane_of(head.position), head.layout)
            first[place] = min(head.position, first.get(place, head.position))
        return [(position, layout) for (_, layout), position in first.items()]

    def without(self, sources: Set[str]) -> TableRows:
        """What there is of other source tables than these, and that one of these is gone."""
        marks = left_marks(self.marks, sources)
        left = [head for head in self.headings if head.layout.table not in sources]
        packets = self.packets
        if len(left) < len(self.headings):
            packets = packets.where(f.col("layout").isin({head.layout.dumps() for head in left}))
        held = self.held and [part for part in self.held if part.layout.table not in sources]
        return replace(self, packets=packets, headings=left, marks=marks, held=held)

    def shown(self, fitting: Fitting) -> TableRows:
        """The same with headings that call columns what the target calls them."""
        if not fitting.places:
            return self
        heads = [head._replace(layout=fitting.shown(head.position, head.layout)) for head in self.headings]
        return replace(self, headings=heads)

    def typed(self, columns: Columns, fitting: Fitting | None = None) -> DataFrame:
        """The rows with just these columns; one that a packet lacks has there what older rows have, or null."""
        ddl = ", ".join(f"{quoted(name)} {sql_type(kind)}" for name, kind in columns.items())
        types = StructType.fromDDL(ddl)
        assert isinstance(types, StructType)
        wanted = arrow_schema(types)
        inferred, fits, files = self.inferred, fitting or Fitting(), self.files

        def unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for data, position, layout in zip(*batch.columns, strict=True):
                    given: Mapping[str, str] = {}
                    moved: Places = {}
                    if fits.older or fits.places:
                        head = Layout.loads(layout.as_py())
                        given, moved = fits.missing(position.as_py(), head), fits.moved(position.as_py(), head)
                    for rows in _unpacked(data.as_py(), files):
                        wide = with_columns(rows, inferred) if inferred and DOCUMENT in rows.schema.names else rows
                        there = moved_to(wide, moved) if moved else wide
                        yield pa.record_batch(fitted(there, wanted, given, fits.tolerant))

        return self._own.mapInArrow(unpacked, ddl)

    def and_packets(self, packets: Sequence[Packet]) -> TableRows:
        """These rows, and those of packets that the driver has made."""
        if not packets:
            return self
        heads = [_heading(packet) for packet in packets]
        held = None if self.held is None else [*self.held, *chain.from_iterable(map(_parts, packets))]
        return replace(self, headings=[*self.headings, *heads], held=held, made=[*self.made, *packets])

    def of_documents(self, tell: Callable[[Sequence[str | None]], Iterable[str]]) -> DataFrame:
        """What `tell` has to say of the documents, packet by packet, as a column of texts."""

        def texts_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for data in batch.column(0):
                    for rows in rows_of(data.as_py()):
                        if DOCUMENT in rows.schema.names:
                            texts = list(tell(rows.column(DOCUMENT).to_pylist()))
                            yield pa.RecordBatch.from_pydict({"text": pa.array(texts, pa.string())})

        return self._own.select("data").mapInArrow(texts_of, "text string")

    def widened(self, columns: Sequence[DeclaredColumn]) -> TableRows:
        """The rows with columns that are read out of their documents, behind these."""
        return replace(self, inferred=columns, headings=[_widened(head, columns) for head in self.headings])


def _unpacked(data: bytes, files: DataFiles | None) -> Iterator[pa.RecordBatch]:
    """The rows of a packet, or of the data file that it names."""
    if files is None or (file := DataFile.loads(data)) is None:
        return rows_of(data)
    return map(pa.record_batch, FiledRows(file, files))


def _heading(packet: Packet) -> Heading:
    layout, size = Layout.loads(packet.layout), len(packet.data)
    return Heading(packet.position, layout, packet.rows, packet.position, size)


def _parts(packet: Packet) -> Iterator[Part]:
    layout = Layout.loads(packet.layout)
    return (Part(packet.position, layout, Held.of(rows)) for rows in rows_of(packet.data))


def _widened(head: Heading, columns: Sequence[DeclaredColumn]) -> Heading:
    """Where a document is unavailable, so is what would be read out of it."""
    layout = head.layout
    if not layout.documents:
        return head
    names = [name for name, _ in layout.columns]
    behind = names.index(DOCUMENT) + 1
    added = tuple((column.name, column_type(column.type.schema).ddl) for column in columns)
    unavailable = tuple(name for name, _ in added) if DOCUMENT in layout.unavailable else ()
    wide = replace(
        layout,
        columns=(*layout.columns[:behind], *added, *layout.columns[behind:]),
        unavailable=(*layout.unavailable, *unavailable),
    )
    return head._replace(layout=wide)
