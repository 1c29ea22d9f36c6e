"""Tells how far a snapshot is whose chunks are read in several batches."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Notices
from cdckit.connector.snapshot_progress import SnapshotProgress
from cdckit_mysql.events.defined_tables import tell_definitions
from cdckit_mysql.snapshot.chunk_plan import Size
from cdckit_mysql.snapshot.chunk_walk import Step
from cdckit_mysql.snapshot.cursor import SnapshotCursor
from cdckit_mysql.snapshot.selection import ChosenTable
from cdckit_mysql.snapshot.snapshot_tables import SnapshotTables


class ChunkProgress:
    """Knows which snapshot was told of last."""

    def __init__(self) -> None:
        self._told = ""

    def tell(
        self,
        known: SnapshotTables,
        reached: SnapshotCursor | None,
        steps: Sequence[Step],
        passed: Sequence[ChosenTable],
        size: Size,
        notices: Notices,
    ) -> None:
        """Tells of a batch: once which tables are left, and each time which chunks are to be read.

        Args:
            known: the snapshot's tables.
            reached: how far it had come; None: it begins.
            steps: the batch's chunks.
            passed: its tables that have no rows, and are done.
            size: how many rows chunks have.
            notices: told of it.
        """
        if reached is None or self._told != known.id:
            self._told = known.id
            left = _left(known.chosen, reached)
            notices.snapshot_started({str(table.id): table.estimate for table in left})
            tell_definitions((table.table for table in left), notices)
            if reached is not None and left:
                _tell_of_read(reached, size(left[0]) or 0, notices)
        for table in passed:
            SnapshotProgress(notices, str(table.id), 0).finished()
        # Whoever adds up what readers tell knows thereby which of a table's chunks are still to be read.
        for chunk in (step.chunk for step in steps):
            notices.snapshot_part(str(chunk.table.id), chunk.part, chunk.of, 0, finished=False)


def _tell_of_read(reached: SnapshotCursor, rows: int, notices: Notices) -> None:
    """The chunks of a table that were read before this process began."""
    for part in range(reached.part):
        notices.snapshot_part(reached.table, part, 0, rows, finished=True)


def _left(chosen: Sequence[ChosenTable], reached: SnapshotCursor | None) -> Sequence[ChosenTable]:
    names = [str(table.id) for table in chosen]
    return chosen if reached is None or reached.table not in names else chosen[names.index(reached.table) :]
