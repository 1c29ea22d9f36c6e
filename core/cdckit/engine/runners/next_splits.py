"""What the direct runner reads next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cdckit.api.record import Offset
from cdckit.api.source import Source, Split
from cdckit.engine.runners.handover import Handover


class Work(NamedTuple):
    """What is read next.

    Attributes:
        splits: in order; none: there is nothing more.
        last: whether the pipeline ends with them.
        end: where they end, where they are one batch.
    """

    splits: Sequence[Split]
    last: bool = False
    end: Offset | None = None

    @property
    def ends(self) -> bool:
        """Whether nothing comes behind them."""
        return self.last or not (self.splits or self.end)


def next_splits(source: Source, offset: Offset, once: bool) -> tuple[Sequence[Split], bool]:
    """What to read next, and whether the pipeline ends with it: `once` bounds the log where it ends now."""
    splits = source.plan(offset, None)
    if not once or all(split.end is not None for split in splits):
        return splits, False
    end = source.latest_offset(offset)
    return [part for split in splits for part in source.bounded(split, end)], True


def next_work(source: Source, offset: Offset, once: bool, handover: Handover | None) -> Work | None:
    """The same beside Spark, whose snapshots are: of one that is due a part, or None where Spark reads it at once."""
    point = None if handover is None else source.snapshot_point(offset)
    if handover is None or point is None:
        return Work(*next_splits(source, offset, once))
    part = handover.part(source, offset, point)
    return None if part is None else Work(part.splits, end=part.end)
