"""A batch of few and small packets, as those are that name data files: one job brings all of it to the driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from pyspark.sql import DataFrame, functions as f

from cdckit.tables.lake.data_files import DataFile
from cdckit.tables.marks import Mark
from cdckit_spark.packets import FilesOf, Layouts, no_files, with_rows
from cdckit_spark.rows import Heading, TableRows

_ASKED = ("topic", "layout", "position", "rows", "if(bucket > 0, null, data) data", "mark", "bucket")
"""The first packets of each task (`cdckit.tables.packets.FIRST_BYTES`) whole, and whether there are more."""
_Row: TypeAlias = tuple[str, str, str, int, bytes, str | None, int]


def few_packets(packets: DataFrame, files: FilesOf = no_files) -> dict[str, TableRows] | None:
    """The tables of a batch with their rows, by topic; None where its packets are too many to come at once.

    Args:
        packets: the batch, which this reads, so that it should be persisted.
        files: gives the data files of tables.
    """
    found = [*_fetched(packets)]
    if any(bucket for *_, bucket in found):
        return None
    layouts = Layouts()
    headings: dict[str, list[Heading]] = defaultdict(list)
    marks: dict[str, list[Mark]] = defaultdict(list)
    for topic, text, position, rows, data, mark, _ in found:
        if mark is None:
            filed = data.startswith(DataFile.BEGIN)
            headings[topic].append(Heading(position, layouts[text], rows, position, len(data), filed))
        else:
            marks[topic].append(Mark.loads(mark))
    frame = packets.where(f.col("mark").isNull())
    tables = {
        topic: TableRows(frame, topic, headings.get(topic, []), marks.get(topic, []), files=files(topic))
        for topic in dict.fromkeys([*headings, *marks])
    }
    whole = ((topic, text, place, data) for topic, text, place, _, data, mark, _ in found if mark is None)
    return with_rows(tables, whole, layouts)


def _fetched(packets: DataFrame) -> Iterator[_Row]:
    for batch in packets.selectExpr(*_ASKED).toArrow().to_batches():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
