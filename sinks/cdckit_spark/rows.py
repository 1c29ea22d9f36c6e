"""A batch as the driver sees it: its packets, and the typed rows of one table out of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from cdckit.record import lane_of
from cdckit.spark.tables import rows_of
from cdckit_spark.layout import Layout
from cdckit_spark.targets import Columns, quoted


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
    """

    packets: DataFrame
    headings: Sequence[Heading]

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

        def unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for data in batch.column(0):
                    for rows in rows_of(data.as_py()):
                        yield _fitted(rows, wanted)

        return self.packets.select("data").mapInArrow(unpacked, ddl)


def tables_of(packets: DataFrame) -> dict[str, TableRows]:
    """The tables of a batch, by topic. This reads the batch, so `packets` should be persisted."""
    found: dict[str, list[Heading]] = {}
    layouts: dict[str, Layout] = {}
    for topic, text, position, rows in packets.select("topic", "layout", "position", "rows").collect():
        layout = layouts.setdefault(text, Layout.loads(text))
        found.setdefault(topic, []).append(Heading(position, layout, rows))
    return {topic: TableRows(packets.where(f.col("topic") == topic), headings) for topic, headings in found.items()}


def _fitted(rows: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    names = set(rows.schema.names)
    columns = [
        rows.column(field.name).cast(field.type) if field.name in names else pa.nulls(rows.num_rows, field.type)
        for field in wanted
    ]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)
