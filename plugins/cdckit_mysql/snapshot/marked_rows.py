"""Snapshot rows to records, each marked by its place in the snapshot, as Debezium marks them."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass

from cdckit import Record
from cdckit.connector.table_events import Row
from cdckit_mysql.events.source_block import SnapshotMark, SourceBlocks
from cdckit_mysql.events.versions import TableVersion
from cdckit_mysql.offsets import CHUNK_ROWS, LogOffset
from cdckit_mysql.table import TableId


@dataclass(frozen=True, slots=True)
class _Held:
    """A row that is held back.

    Attributes:
        version: its table.
        rows: the row alone.
        chunk: the number of its chunk.
        number: its number in the positions.
        first: whether it is its table's first.
    """

    version: TableVersion
    rows: list[Row]
    chunk: int
    number: int
    first: bool


class MarkedRows:
    """Makes the records of a snapshot, whose chunks may come in parts and in any order.

    Of each table one row is held back, and of tables that have ended the last one: whether it is a last one shows only
    later.

    Args:
        blocks: makes source blocks.
        offset: the point in the log that the rows belong to.
        time_us: when they were read, in microseconds since 1970.
        begins: whether the rows of the snapshot's first table are among them.

    Attributes:
        finished: the numbers of the chunks whose records have all been given out; whoever reads them takes them away.
    """

    def __init__(self, blocks: SourceBlocks, offset: LogOffset, time_us: int, *, begins: bool = True) -> None:
        self.finished: list[int] = []
        self._blocks = blocks
        self._offset = offset
        self._time_us = time_us
        self._prefix = offset.position.prefix
        self._begins = begins
        self._empty = True
        self._taken: defaultdict[int, int] = defaultdict(int)
        self._held: dict[TableId, _Held] = {}
        self._last: _Held | None = None
        self._ended: set[int] = set()
        self._given: set[int] = set()

    def take(self, chunk: int, version: TableVersion, rows: list[Row], *, first: bool) -> list[Record]:
        """The records of a chunk's next rows but the last, behind those that were held back and are no last ones.

        Args:
            chunk: its number.
            version: its table.
            rows: at least one.
            first: whether the table's first row is among them.
        """
        self._empty = False
        made = self.of_ended_chunks(version.table.id)
        before = self._held.pop(version.table.id, None)
        if before is not None:
            made += self._release(before, "true")
        if len(rows) > 1:
            self._given.add(chunk)
        # Chunks come in any order, so each numbers its rows by itself: positions stay the same however they are read.
        number = (chunk + 1) * CHUNK_ROWS + self._taken[chunk]
        self._taken[chunk] += len(rows)
        if first and len(rows) > 1:
            made += self._made(version, rows[:1], self._first_mark(), number)
            number, rows, first = number + 1, rows[1:], False
        if len(rows) > 1:
            made += self._made(version, rows[:-1], "true", number)
        # Which row is a table's or the snapshot's last one is known only behind it, and its mark is in the record.
        self._held[version.table.id] = _Held(version, rows[-1:], chunk, number + len(rows) - 1, first)
        return made

    def of_ended_chunks(self, table: TableId) -> list[Record]:
        """What was held back of chunks that have ended, now that there are more rows of the table."""
        made = self._release_last()
        held = self._held.get(table)
        if held is not None and held.chunk in self._ended:
            made += self._release(self._held.pop(table), "true")
        return made

    @property
    def in_a_chunk(self) -> bool:
        """Whether some records that were given out are of chunks that are not finished."""
        return bool(self._given)

    def end(self, chunk: int, table: TableId, *, ends_table: bool) -> list[Record]:
        """A chunk has no more rows; the records that need not be held back any longer.

        Only a row of the first table is marked as the snapshot's first one: as in Debezium there is none where that
        table is empty.
        """
        if self._empty and ends_table:
            self._begins = False
        self._taken.pop(chunk, None)
        held = self._held.get(table)
        if held is not None and held.chunk == chunk:
            self._ended.add(chunk)
        else:
            self._finish(chunk)
        if held is None or not ends_table:
            return []
        made = self._release_last()
        self._last = self._held.pop(table)
        return made

    def finish(self, *, ends: bool = True) -> list[Record]:
        """What is still held back.

        Args:
            ends: whether the snapshot's last row is among it.
        """
        rest = [record for held in self._held.values() for record in self._release(held, "true")]
        self._held.clear()
        return rest + self._release_last("last" if ends else "last_in_data_collection")

    def _release_last(self, mark: SnapshotMark = "last_in_data_collection") -> list[Record]:
        held, self._last = self._last, None
        return [] if held is None else self._release(held, mark)

    def _release(self, held: _Held, mark: SnapshotMark) -> list[Record]:
        if held.chunk in self._ended:
            self._ended.remove(held.chunk)
            self._finish(held.chunk)
        else:
            self._given.add(held.chunk)
        if held.first and (mark == "true" or (self._begins and mark != "last")):
            mark = self._first_mark()
        return self._made(held.version, held.rows, mark, held.number)

    def _finish(self, chunk: int) -> None:
        self.finished.append(chunk)
        self._given.discard(chunk)

    def _first_mark(self) -> SnapshotMark:
        if self._begins:
            self._begins = False
            return "first"
        return "first_in_data_collection"

    def _made(self, version: TableVersion, rows: list[Row], mark: SnapshotMark, number: int) -> list[Record]:
        source = self._blocks.block(
            version.table.id,
            time_us=self._time_us,
            file=self._offset.file,
            pos=self._offset.pos,
            snapshot=mark,
        )
        return version.events.reads(rows, source, self._prefix, first_position=number)


def seconds_as_us() -> int:
    """Now in whole seconds, which is how exactly Debezium tells when rows were read, in microseconds since 1970."""
    return time.time_ns() // 1_000_000_000 * 1_000_000
