"""Snapshot rows to records, each marked by its place in the snapshot, as Debezium marks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cdckit.record import Record
from cdckit_mysql.events.source_block import SnapshotMark, SourceBlocks
from cdckit_mysql.events.table_events import Row
from cdckit_mysql.events.versions import TableVersion
from cdckit_mysql.offsets import LogOffset


@dataclass(slots=True)
class RowChunk:
    """Some rows of one table, in order.

    Attributes:
        version: the table.
        rows: at least one.
        first: whether they are the table's first.
    """

    version: TableVersion
    rows: list[Row]
    first: bool


class MarkedRows:
    """Makes the records of a snapshot. One row is always held back: whether it is a last one shows only later.

    Args:
        blocks: makes source blocks.
        offset: the point in the log that the rows belong to.
        time_us: when they were read, in microseconds since 1970.
        first_number: the first row's number in the records' positions.
        begins: whether the snapshot's first row is among them.
        ends: whether its last row is.
        ends_table: whether the last row of the last table is.
    """

    def __init__(
        self,
        blocks: SourceBlocks,
        offset: LogOffset,
        time_us: int,
        *,
        first_number: int = 0,
        begins: bool = True,
        ends: bool = True,
        ends_table: bool = True,
    ) -> None:
        self._blocks = blocks
        self._offset = offset
        self._time_us = time_us
        self._prefix = offset.position.prefix
        self._number = first_number
        self._begins = begins
        self._ends = ends
        self._ends_table = ends_table
        self._held: RowChunk | None = None

    def records(self, chunks: Iterable[RowChunk]) -> Iterator[list[Record]]:
        """The records of `chunks`, a list for each."""
        for chunk in chunks:
            made = self._release(last_in_table=chunk.first)
            self._held = RowChunk(chunk.version, chunk.rows[-1:], chunk.first and len(chunk.rows) == 1)
            yield made + self._plain(chunk)
        yield self._release(last_in_table=self._ends_table, last=self._ends)

    def _plain(self, chunk: RowChunk) -> list[Record]:
        """All rows but the last."""
        rows, made = chunk.rows[:-1], []
        if chunk.first and rows:
            made = self._made(chunk.version, rows[:1], self._first_mark())
            rows = rows[1:]
        return made + self._made(chunk.version, rows, "true") if rows else made

    def _release(self, *, last_in_table: bool, last: bool = False) -> list[Record]:
        held = self._held
        if held is None:
            return []
        self._held = None
        mark: SnapshotMark = "true"
        if last:
            mark = "last"
        elif held.first and self._begins:
            mark = self._first_mark()
        elif last_in_table:
            mark = "last_in_data_collection"
        elif held.first:
            mark = self._first_mark()
        return self._made(held.version, held.rows, mark)

    def _first_mark(self) -> SnapshotMark:
        if self._begins:
            self._begins = False
            return "first"
        return "first_in_data_collection"

    def _made(self, version: TableVersion, rows: list[Row], mark: SnapshotMark) -> list[Record]:
        source = self._blocks.block(
            version.table.id,
            time_us=self._time_us,
            file=self._offset.file,
            pos=self._offset.pos,
            snapshot=mark,
        )
        made = version.events.reads(rows, source, self._prefix, first_position=self._number)
        self._number += len(rows)
        return made
