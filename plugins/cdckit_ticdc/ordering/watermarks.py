"""Watermarks: up to which commit_ts each partition, and so the whole, has been sent."""

from __future__ import annotations

from collections.abc import Iterable

from cdckit_ticdc.offsets import Partition


class Watermarks:
    """The watermarks of all partitions. None of them ever goes back.

    Args:
        partitions: those that are read.
        passed: up to where rows were delivered before.
    """

    def __init__(self, partitions: Iterable[Partition], passed: int = 0) -> None:
        self._partitions: dict[Partition, int] = dict.fromkeys(partitions, 0)
        self.passed = passed
        self.seen = passed > 0

    def add(self, partition: Partition) -> None:
        """A partition that is read from now on."""
        self._partitions.setdefault(partition, 0)

    def advance(self, partition: Partition, commit_ts: int) -> bool:
        """Notes a partition's watermark; whether the whole's moved on with it.

        The whole's is the lowest of all, and waits for partitions that have none yet.
        """
        self.seen = True
        self._partitions[partition] = max(commit_ts, self._partitions.get(partition, 0))
        # Rows of one transaction lie in several partitions: only the slowest says up to when all are there.
        lowest = min(self._partitions.values())
        if lowest <= self.passed:
            return False
        self.passed = lowest
        return True
