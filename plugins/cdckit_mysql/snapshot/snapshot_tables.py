"""The tables of one snapshot whose chunks are read in several batches: which, in which order, by which definitions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cdckit import StateStore
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.snapshot.selection import ChosenTable
from cdckit_mysql.table import Tables

KEPT_AS = "snapshot_tables"
"""The key of their names in the state store."""
_ANEW = "snapshot_anew"
"""The key of the snapshot that is to begin anew."""


@dataclass(frozen=True, slots=True)
class SnapshotTables:
    """The tables of one snapshot.

    Attributes:
        id: tells it from others.
        tables: the definitions at its point.
        chosen: those that it reads, in order.
    """

    id: str
    tables: Tables
    chosen: Sequence[ChosenTable]

    def keep_order(self, state: StateStore) -> None:
        """Makes the order durable: a later start may choose others, or find other sizes."""
        state.put(KEPT_AS, {"id": self.id, "tables": [str(table.id) for table in self.chosen]})


def snapshot_id(point: LogOffset) -> str:
    """What tells the snapshot at a point from others, be they at the same place in the log."""
    again = "" if point.resnapshot is None else point.resnapshot.id
    return f"{point.position.prefix} {point.ts_sec} {again}".strip()


def in_kept_order(chosen: Sequence[ChosenTable], state: StateStore, id: str) -> list[ChosenTable]:
    """Tables in the order in which a snapshot that has begun takes them; those that it does not know come last."""
    kept = state.get(KEPT_AS)
    names: Collection[str] = kept["tables"] if kept is not None and kept["id"] == id else ()
    places = {name: place for place, name in enumerate(names)}
    return sorted(chosen, key=lambda table: places.get(str(table.id), len(places)))


def note_anew(state: StateStore, point: LogOffset) -> None:
    """Notes that a snapshot which has begun cannot go on: the next start takes it at a new point."""
    state.put(_ANEW, snapshot_id(point))


def goes_on(state: StateStore, at: LogOffset) -> bool:
    """Whether a snapshot that has begun goes on from `at`."""
    return at.snapshot_begun and state.get(_ANEW) != snapshot_id(at)
