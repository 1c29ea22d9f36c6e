"""A batch as the driver sees it: its packets, and the typed rows of one table out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from cdckit.record import lane_of
from cdckit.spark.tables import rows_of
from cdckit_spark.documents import DOCUMENT, DeclaredColumn, with_columns
from cdckit_spark.layout import Layout
from cdckit_spark.targets import Columns, quoted
from cdckit_spark.types import column_type


class Heading(NamedTuple):
    """A packet without its rows."""

    position: str
    layout: Layout
    rows: int


@dataclass(frozen=True, slots=True)
class TableRows:
    """What a batch holds for one table.

    Attributes:
        packets: its packets.
        headings: what the packets say of themselves.
        inferred: columns to read out of the documents besides.
    """

    packets: DataFrame
    headings: Sequence[Heading]
    inferred: Sequence[DeclaredColumn] = ()

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(heading.rows for heading in self.headings)

    @property
    def layouts(self) -> list[tuple[str, Layout]]:
        """Each layout with the position of its first row, lane by lane."""
        first: dict[tuple[str, Layout], str] = {}
        for position, layout, _ in self.headings:
            place = (lane_of(position), layout)
            first[place] = min(position, first.get(place, position))
        return [(position, layout) for (_, layout), position in first.items()]

    def typed(self, columns: Columns) -> DataFrame:
        """The rows with just these columns; one that a packet lacks is null there."""
        ddl = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
        types = StructType.fromDDL(ddl)
        assert isinstance(types, StructType)
        wanted = to_arrow_schema(types, timezone="UTC")
        inferred = self.inferred

        def unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for data in batch.column(0):
                    for rows in rows_of(data.as_py()):
                        wide = with_columns(rows, inferred) if inferred and DOCUMENT in rows.schema.names else rows
                        yield _fitted(wide, wanted)

        return self.packets.select("data").mapInArrow(unpacked, ddl)

    def of_documents(self, tell: Callable[[Sequence[str | None]], Iterable[str]]) -> DataFrame:
        """What `tell` has to say of the documents, packet by packet, as a column of texts."""

        def told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for data in batch.column(0):
                    for rows in rows_of(data.as_py()):
                        if DOCUMENT in rows.schema.names:
                            texts = list(tell(rows.column(DOCUMENT).to_pylist()))
                            yield pa.RecordBatch.from_pydict({"text": pa.array(texts, pa.string())})

        return self.packets.select("data").mapInArrow(told, "text string")

    def widened(self, columns: Sequence[DeclaredColumn]) -> TableRows:
        """The rows with columns that are read out of their documents, behind these."""
        return replace(self, inferred=columns, headings=[_widened(head, columns) for head in self.headings])


def tables_of(packets: DataFrame) -> dict[str, TableRows]:
    """The tables of a batch, by topic. This reads the batch, so `packets` should be persisted."""
    found: dict[str, list[Heading]] = {}
    layouts: dict[str, Layout] = {}
    for topic, text, position, rows in packets.select("topic", "layout", "position", "rows").collect():
        layout = layouts.setdefault(text, Layout.loads(text))
        found.setdefault(topic, []).append(Heading(position, layout, rows))
    return {topic: TableRows(packets.where(f.col("topic") == topic), headings) for topic, headings in found.items()}


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


def _fitted(rows: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    names = set(rows.schema.names)
    columns = [
        rows.column(field.name).cast(field.type) if field.name in names else pa.nulls(rows.num_rows, field.type)
        for field in wanted
    ]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)
