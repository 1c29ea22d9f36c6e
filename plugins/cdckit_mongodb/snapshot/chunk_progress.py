"""Tells how far a snapshot is whose chunks are read in several batches."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Notices
from cdckit_mongodb.offsets import DONE, SnapshotPlace, StreamOffset
from cdckit_mongodb.snapshot.collections import ChosenCollection
from cdckit_mongodb.splits import Chunk


class ChunkProgress:
    """Knows which snapshot was told of last, and how many chunks of a collection lie before a place."""

    def __init__(self) -> None:
        self._told: StreamOffset | None = None
        self._parts: dict[SnapshotPlace, int] = {}

    def part(self, reached: SnapshotPlace | None) -> int:
        """The number of the next chunk of the collection that a place is in.

        Of what was read before this process began it is known how much it was, and it counts as one.
        """
        if reached is None:
            return 0
        return self._parts.get(reached, 1 if reached.read else 0)

    def tell(
        self,
        chosen: Sequence[ChosenCollection],
        end: StreamOffset,
        reached: SnapshotPlace | None,
        until: SnapshotPlace | None,
        chunks: Sequence[Chunk],
        notices: Notices,
    ) -> None:
        """Tells of a batch: once which collections are left, and each time which chunks are to be read.

        Args:
            chosen: the snapshot's collections.
            end: the offset behind it.
            reached: how far it had come; None: it begins.
            until: how far it comes; None: to its end.
            chunks: the batch's.
            notices: told of it.
        """
        if reached is None or self._told != end:
            self._told, self._parts = end, {}
            left = [one for one in chosen if reached is None or _is_left(one, reached)]
            notices.snapshot_started(data_collections={one.full_name: one.estimate for one in left})
            if reached is not None and reached.read:
                notices.snapshot_part(reached.collection, 0, 0, reached.read, finished=True)
        if until is not None and until.included and chunks:
            self._parts[until] = chunks[-1].number + 1
        # Whoever adds up what readers tell knows thereby which of a collection's chunks are still to be read.
        for chunk in chunks:
            notices.snapshot_part(chunk.full_name, chunk.number, chunk.of, 0, finished=False)


def _is_left(one: ChosenCollection, reached: SnapshotPlace) -> bool:
    return one.order > reached.order or (one.order == reached.order and reached.after != DONE)
