"""What the direct runner reads next."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.api.record import Offset
from cdckit.api.source import Source, Split


def next_splits(source: Source, offset: Offset, once: bool) -> tuple[Sequence[Split], bool]:
    """What to read next, and whether the pipeline ends with it: `once` bounds the log where it ends now."""
    splits = source.plan(offset, None)
    if not once or all(split.end is not None for split in splits):
        return splits, False
    end = source.latest_offset(offset)
    return [part for split in splits for part in source.bounded(split, end)], True
