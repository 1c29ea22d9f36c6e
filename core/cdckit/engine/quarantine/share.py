"""Which share of the last records could not be delivered."""

from __future__ import annotations

from collections import deque

LAST = 1000
"""Over so many records, or a little more, the share is taken."""


class Share:
    """Counts records in batches, and forgets those that lie far behind."""

    def __init__(self) -> None:
        self._batches: deque[tuple[int, int]] = deque()
        self._records = self._failed = 0

    def copy(self) -> Share:
        """The same counts, by themselves."""
        other = Share()
        other._batches = self._batches.copy()
        other._records, other._failed = self._records, self._failed
        return other

    def add(self, records: int, failed: int) -> None:
        """Takes a batch: how many records it had, and how many of them failed."""
        self._batches.append((records, failed))
        self._records += records
        self._failed += failed
        while self._records - self._batches[0][0] >= LAST:
            gone, gone_failed = self._batches.popleft()
            self._records -= gone
            self._failed -= gone_failed

    def exceeds(self, share: float) -> bool:
        """Whether more than `share` of the last records failed; not before there were `LAST` of them."""
        return self._records >= LAST and self._failed > share * self._records
