"""Where rows of transactions end, as it is counted at every server of a topology."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cdckit import Offset, Record
from cdckit_mysql.offsets import LogOffset, ToldPart, row_number
from cdckit_mysql.streaming.progress import LogProgress


class RowEnds:
    """The ends of the rows that were told since they were taken last."""

    def __init__(self) -> None:
        self._ends: dict[str, Offset] = {}

    def note(
        self, at: LogOffset, progress: LogProgress, records: Sequence[Record], table: str, first_position: int
    ) -> None:
        """Notes the ends of the records of one event.

        Args:
            at: the offset before them.
            progress: knows how many rows of the transaction in hand were told before them.
            records: they.
            table: whose rows they are.
            first_position: the number of the first one's row in its position.
        """
        before, ends = progress.rows_told.get(table, 0) - first_position, dict[int, Offset]()
        for record in records:
            row = row_number(record.position)
            if row not in ends:
                rows = {**progress.rows_told, table: before + row + 1}
                told = None if progress.gtid is None else ToldPart(progress.gtid, rows, {})
                ends[row] = at.with_changes(told=told).to_json()
            self._ends[record.position] = ends[row]

    def take(self) -> Mapping[str, Offset]:
        """The offsets behind records, by their positions."""
        taken, self._ends = self._ends, {}
        return taken
