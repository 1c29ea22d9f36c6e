"""Walks along the keys of a snapshot's tables, chunk by chunk, no further than it is asked to.

The server is asked for each chunk's last key, a given number of rows behind the one before (`ORDER BY … LIMIT 1 OFFSET
…`). So chunks have about the same size whatever the keys look like, and those of a table of any size need not be known
before the first one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cdckit import SnapshotDueError
from cdckit_mysql.filters import Filters
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import query
from cdckit_mysql.snapshot.changed import OWN_QUERY
from cdckit_mysql.snapshot.chunk_key import ChunkKey, chunk_key
from cdckit_mysql.snapshot.chunk_plan import Chunk, Size
from cdckit_mysql.snapshot.cursor import MOST_NUMBER, SnapshotCursor
from cdckit_mysql.snapshot.selection import ChosenTable
from cdckit_mysql.snapshot.tables_with_rows import TablesWithRows

MOST_CHUNKS = MOST_NUMBER - 9_999
"""Tables behind so many chunks are not cut, nor the rest of one."""


@dataclass(frozen=True, slots=True)
class Step:
    """A chunk.

    Attributes:
        chunk: what is read.
        behind: the place behind it; None: behind the snapshot.
    """

    chunk: Chunk
    behind: SnapshotCursor | None


class _Begun(NamedTuple):
    """A table that is to be cut.

    Attributes:
        table: which one.
        after: the last key that was read of it.
        part: how many of its chunks were read.
    """

    table: ChosenTable
    after: tuple[str, ...] = ()
    part: int = 0


class _Piece(NamedTuple):
    """A range of a table.

    Attributes:
        condition: its rows, in SQL.
        rows: about how many they are.
        last: its last key; empty: the table ends with it.
    """

    condition: str
    rows: int
    last: tuple[str, ...]


class ChunkWalk:
    """The chunks between two places of a snapshot.

    Args:
        connection: asked for keys; its session is in UTC.
        filters: what is captured.
        tables: all tables of the snapshot, in order.
        size: how many rows chunks have.
        start: where to begin; None: at the snapshot's begin.
        until: where to end; None: at its end.
        is_there: whether a table is still there, as it was noted.

    Attributes:
        passed: the tables on the way that have no rows, or are no longer there.
    """

    def __init__(
        self,
        connection: Connection,
        filters: Filters,
        tables: Sequence[ChosenTable],
        size: Size,
        start: SnapshotCursor | None,
        until: SnapshotCursor | None,
        is_there: Callable[[ChosenTable], bool],
    ) -> None:
        self._connection = connection
        self._filters = filters
        self._tables = tables
        self._size = size
        self._start = start
        self._until = until
        self._is_there = is_there
        self._with_rows = TablesWithRows(connection, tables)
        # What is cut again must not get more numbers than it had: those behind them are others'.
        self._most = MOST_CHUNKS if until is None else max(0, until.chunk - 1)
        self.passed: list[ChosenTable] = []

    def steps(self) -> Iterator[Step]:
        """The chunks, in order.

        Raises:
            SnapshotDueError: the place where it begins or ends is none of these tables.
        """
        number = self._start.chunk if self._start else 0
        tables = self._left()
        at = next(tables, None)
        while at is not None:
            following = None
            for part, piece in enumerate(self._pieces(at, number), at.part):
                following = None if piece.last else next(tables, None)
                yield self._step(at, piece, part, number, following)
                number += 1
            at = following

    def _step(self, at: _Begun, piece: _Piece, part: int, number: int, following: _Begun | None) -> Step:
        table, ends = at.table, not piece.last
        if piece.last:
            behind: SnapshotCursor | None = SnapshotCursor(str(table.id), piece.last, part + 1, number + 1)
        elif following is not None:
            behind = SnapshotCursor(str(following.table.id), chunk=number + 1)
        else:
            behind = self._until
        chunk = Chunk(
            table=table.table,
            condition=piece.condition,
            estimate=piece.rows,
            number=number,
            part=part,
            of=part + 1 if ends else 0,
            first=part == 0,
            last=ends,
            begins=number == 0 and table is self._tables[0],
            ends=behind is None,
        )
        return Step(chunk, behind)

    def _left(self) -> Iterator[_Begun]:
        """The tables that are left and have rows."""
        names = [str(table.id) for table in self._tables]
        first = 0 if self._start is None else _place(names, self._start)
        end = len(names) if self._until is None else _place(names, self._until) + bool(self._until.key)
        for table in self._tables[first:end]:
            begun = _Begun(table)
            if self._start is not None and self._start.table == str(table.id):
                begun = _Begun(table, self._start.key, self._start.part)
            if self._is_there(table) and (begun.part or self._with_rows.has(table)):
                yield begun
            else:
                self.passed.append(table)

    def _pieces(self, begun: _Begun, number: int) -> Iterator[_Piece]:
        table, after = begun.table, begun.after
        key = chunk_key(table.table, self._filters) if table.statement is None else None
        size = self._size(table)
        if after and (key is None or len(key.columns) != len(after)):
            raise _anew(f"within {table.id}, which has another key to be cut by")
        if key is None:
            yield _Piece("", table.estimate, ())
            return
        end = self._until.key if self._until is not None and self._until.table == str(table.id) else ()
        while size is not None and number < self._most:
            bound = self._bound(table, key, after, end, size)
            if not bound:
                break
            yield _Piece(key.between(after, bound), size, bound)
            after, number = bound, number + 1
        yield _Piece(key.between(after, end), table.estimate if size is None else min(size, table.estimate), end)

    def _bound(
        self, table: ChosenTable, key: ChunkKey, after: tuple[str, ...], end: tuple[str, ...], size: int
    ) -> tuple[str, ...]:
        """The key of the last of the next rows; empty where no more are left."""
        within = key.between(after, end)
        where = f" WHERE {within}" if within else ""
        statement = (
            f"SELECT {key.selected} FROM {table.source}{where} "  # noqa: S608 - of quoted names and checked literals
            f"ORDER BY {key.order.columns} LIMIT 1 OFFSET {size - 1}"
        )
        found = query(self._connection, statement)
        bound = key.texts(found[0]) if found else ()
        if not bound:
            return ()
        rest = f"SELECT 1 FROM {table.source} WHERE {key.between(bound, end)} LIMIT 1"  # noqa: S608 - likewise
        return bound if query(self._connection, rest) else ()


def _place(names: Sequence[str], cursor: SnapshotCursor) -> int:
    if cursor.table not in names:
        raise _anew(f"to {cursor.table}, which is no table that it reads any more")
    return names.index(cursor.table)


def _anew(reached: str) -> SnapshotDueError:
    return SnapshotDueError(f"the snapshot had come {reached}: it begins anew {OWN_QUERY}")
