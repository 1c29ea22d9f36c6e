"""A batch as the driver sees it: what its packets say of themselves, and those of small tables whole.

The executors put together what packets of one layout say: a batch of thousands of packets comes to the driver as a few
lines for each table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, functions as f

from cdckit import LANE_END
from cdckit.tables.lake.data_files import DataFile, DataFiles, FiledRows
from cdckit.tables.lake.rows import Held, Part
from cdckit.tables.layout import Layout
from cdckit.tables.marks import Mark
from cdckit.tables.streams import rows_of
from cdckit_spark.rows import Heading, TableRows

_IN_A_SET = 11
"""Spark looks for one of so many values in a set, by other code than where there are fewer."""


class Layouts:
    """Layouts by their texts, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, Layout] = {}

    def __getitem__(self, text: str) -> Layout:
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = Layout.loads(text)
        return found


Fetched: TypeAlias = tuple[str, str, str, bytes]
"""Topic, layout, position and data of a packet."""
FilesOf: TypeAlias = Callable[[str], DataFiles | None]
"""Gives the data files of a topic's table; None where no worker writes any."""


def no_files(_topic: str) -> None:
    """Of sinks whose tables Spark alone writes."""


def tables_of(packets: DataFrame, files: FilesOf = no_files) -> dict[str, TableRows]:
    """The tables of a batch, by topic. This reads the batch, so `packets` should be persisted."""
    layouts = Layouts()
    headings: dict[str, list[Heading]] = defaultdict(list)
    marks: dict[str, list[Mark]] = defaultdict(list)
    for topic, text, mark, *told in _told(packets).collect():
        if mark is None:
            headings[topic].append(_heading(layouts[text], *told))
        else:
            marks[topic].append(Mark.loads(mark))
    with_rows = packets.where(f.col("mark").isNull())
    tables = {
        topic: TableRows(with_rows, topic, headings.get(topic, []), marks.get(topic, []), files=files(topic))
        for topic in [*headings, *(topic for topic in marks if topic not in headings)]
    }
    return tables | _in_detail({topic: rows for topic, rows in tables.items() if rows.cut}, with_rows, layouts)


def _told(packets: DataFrame) -> DataFrame:
    """What packets say, those of one layout and lane together; marks one by one."""
    position = f.col("position")
    lane = f.when(position.contains(LANE_END), f.substring_index(position, LANE_END, 1)).otherwise("")
    first, last = f.min(position), f.max(position)
    grouped = packets.groupBy("topic", "layout", "mark", lane.alias("lane"), _filed().alias("filed"))
    found = grouped.agg(first.alias("first"), f.sum("rows"), last.alias("last"), f.sum(_size()).alias("packed"))
    return found.select("topic", "layout", "mark", "first", "sum(rows)", "last", "packed", "filed")


def _filed() -> Column:
    """Whether a packet names a data file."""
    return f.startswith(f.col("data"), f.lit(DataFile.BEGIN))


def _size() -> Column:
    return f.octet_length("data")


def _heading(layout: Layout, first: str, rows: int, last: str, packed: int, filed: bool) -> Heading:
    return Heading(first, layout, rows, last, packed, filed)


def _in_detail(tables: Mapping[str, TableRows], packets: DataFrame, layouts: Layouts) -> dict[str, TableRows]:
    """Tables that marks may cut, with a heading for each packet: which lie before a mark, and what the last one is."""
    if not tables:
        return {}
    headings: dict[str, list[Heading]] = defaultdict(list)
    here = packets.where(f.col("topic").isin(list(tables)))
    told = here.select("topic", "layout", "position", "rows", _size(), _filed())
    for topic, text, position, rows, packed, filed in told.collect():
        headings[topic].append(Heading(position, layouts[text], rows, position, packed, filed))
    return {topic: replace(rows, headings=headings.get(topic, [])) for topic, rows in tables.items()}


def parted(tables: Mapping[str, TableRows], most: int) -> Iterator[dict[str, TableRows]]:
    """Tables in parts whose packets have so many bytes together, or are one table's."""
    part: dict[str, TableRows] = {}
    size = 0
    for topic, rows in tables.items():
        if part and size + rows.packed_bytes > most:
            yield part
            part, size = {}, 0
        part[topic] = rows
        size += rows.packed_bytes
    if part:
        yield part


def held(tables: Mapping[str, TableRows], packets: DataFrame) -> dict[str, TableRows]:
    """Tables with their rows, which one job brings to the driver, unless they are there."""
    topics = [topic for topic, rows in tables.items() if rows.headings and rows.held is None]
    left = {topic: rows for topic, rows in tables.items() if rows.held is None}
    return {**tables, **with_rows(left, _fetched(packets, topics) if topics else (), Layouts())}


def with_rows(tables: Mapping[str, TableRows], packets: Iterable[Fetched], layouts: Layouts) -> dict[str, TableRows]:
    """Tables with what packets have for them: rows, or the names of the files that have these."""
    parts: dict[str, list[Part]] = defaultdict(list)
    for topic, text, position, data in packets:
        if (file := tables[topic].file_of(data)) is not None:
            parts[topic].append(Part(position, layouts[text], file))
            continue
        for rows in rows_of(data):
            parts[topic].append(Part(position, layouts[text], Held(rows)))
    return {
        topic: replace(rows, held=sorted(parts.get(topic, []), key=lambda part: part.position))
        for topic, rows in tables.items()
    }


def files_of(tables: Mapping[str, TableRows], packets: DataFrame) -> Iterator[FiledRows]:
    """The data files of tables, held or not."""
    left = [topic for topic, rows in tables.items() if rows.filed and rows.held is None]
    for rows in tables.values():
        yield from (part.batches for part in rows.held or () if isinstance(part.batches, FiledRows))
    if left:
        for topic, data in packets.where(_filed() & f.col("topic").isin(left)).select("topic", "data").collect():
            if (file := tables[topic].file_of(bytes(data))) is not None:
                yield file


def rehearsed(packets: DataFrame) -> None:
    """Asks of a batch without packets what is asked of others."""
    tables_of(packets)
    for _ in _fetched(packets, [f"{number}" for number in range(_IN_A_SET)]):
        pass


def _fetched(packets: DataFrame, topics: Sequence[str]) -> Iterator[Fetched]:
    """Topic, layout, position and data of the packets with rows, by way of Arrow."""
    wanted = packets.where(f.col("mark").isNull() & f.col("topic").isin(topics))
    found = wanted.select("topic", "layout", "position", "data").toArrow()
    for batch in found.to_batches():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
