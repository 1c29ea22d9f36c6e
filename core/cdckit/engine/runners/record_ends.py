"""Where a part of a batch ends that is committed by itself, as it is counted whichever server is read next."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.api.batch import Batch
from cdckit.api.record import Offset, Record


class RecordEnds:
    """The ends of the records of one batch.

    Args:
        batch: as the source gave it.
        before: the offset before it; None where reading on from there gives other records, too.
    """

    def __init__(self, batch: Batch, before: Offset | None) -> None:
        self._ends = batch.ends
        self._before = before

    def behind(self, records: Sequence[Record], count: int) -> Offset | None:
        """An offset before which nothing lies but the first records and what came before the batch.

        All of that does, but for a row whose records are parted, and what is no row. None where no offset is known.

        Args:
            records: those of the batch, behind the transforms.
            count: how many of them are committed.
        """
        following = self._ends.get(records[count].position) if count < len(records) else None
        for record in reversed(records[:count]):
            end = self._ends.get(record.position)
            if end is not None and end is not following:
                return end
        return self._before
