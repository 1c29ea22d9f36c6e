"""The plan of a snapshot at one consistent point: its chunks, numbered and kept in the state.

With it a snapshot that was stopped goes on with the chunks that are left. That is sound for those that are finished:
their rows were read as they were at the first point, and the log up to the second one, which is delivered before,
brings them there. What is left is read at the second point.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from cdckit import StateStore
from cdckit_mysql.snapshot.chunk_plan import leading_key_column
from cdckit_mysql.snapshot.finished import FinishedChunks
from cdckit_mysql.snapshot.selection import ChosenTable
from cdckit_mysql.table import Table, TableId

log = logging.getLogger("cdckit.mysql")

KEPT_AS = "snapshot"
"""The plan's key in the state store."""

Cut = Callable[[ChosenTable], Sequence[str]]
"""Gives the conditions that divide a table's rows; one that is empty for a table that is not divided."""


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """Some rows of a table.

    Attributes:
        table: whose.
        condition: which rows, in SQL; empty: all.
        key: the column that the condition is about, as it was; empty without one.
    """

    table: TableId
    condition: str = ""
    key: str = ""


@dataclass(slots=True)
class SnapshotPlan:
    """The chunks of one snapshot.

    Attributes:
        id: tells the plan of this snapshot from those of others.
        chunks: a chunk's number is its place here.
    """

    id: str
    chunks: list[PlannedChunk] = field(default_factory=list)

    def add(self, tables: Iterable[ChosenTable], cut: Cut) -> None:
        """Adds the chunks of some tables."""
        for table in tables:
            conditions = cut(table)
            key = _key_text(table.table) if len(conditions) > 1 else ""
            self.chunks += [PlannedChunk(table.id, condition, key) for condition in conditions]

    def fits(self, chosen: Sequence[ChosenTable], finished: FinishedChunks) -> bool:
        """Whether the chunks that are left still divide their tables: none of the keys they are cut by has changed."""
        known = {table.id: table.table for table in chosen}
        return all(
            not chunk.key or chunk.table not in known or chunk.key == _key_text(known[chunk.table])
            for number, chunk in enumerate(self.chunks)
            if number not in finished
        )

    def follow(self, chosen: Sequence[ChosenTable], finished: FinishedChunks, cut: Cut) -> None:
        """Adds the tables that have come since, and takes chunks of tables that have gone for finished."""
        planned = {chunk.table for chunk in self.chunks}
        wanted = {table.id for table in chosen}
        for number, chunk in enumerate(self.chunks):
            if chunk.table not in wanted:
                finished.add(number)
        self.add((table for table in chosen if table.id not in planned), cut)

    def left(self, finished: FinishedChunks) -> Iterator[tuple[int, PlannedChunk]]:
        """The chunks that are not finished, with their numbers."""
        return ((number, chunk) for number, chunk in enumerate(self.chunks) if number not in finished)

    def keep(self, state: StateStore) -> None:
        """Makes the plan durable."""
        state.put(KEPT_AS, {"id": self.id, "chunks": [list(asdict(chunk).values()) for chunk in self.chunks]})


def kept_plan(state: StateStore, plan_id: str) -> SnapshotPlan | None:
    """The plan that was kept under this id, or None."""
    found = state.get(KEPT_AS)
    if found is None or found["id"] != plan_id:
        return None
    chunks = [PlannedChunk(TableId(*table), condition, key) for table, condition, key in found["chunks"]]
    return SnapshotPlan(plan_id, chunks)


def _key_text(table: Table) -> str:
    column = leading_key_column(table)
    return "" if column is None else f"{column.name} {column.type_name} {column.collation or ''}"
