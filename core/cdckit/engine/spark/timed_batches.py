"""How much of a log a batch takes so that it is done in about a given time."""

from __future__ import annotations

ASKED = "delivered"
"""How a driver is asked how many seconds the delivery of the last batch took."""
LEAST_BYTES = 1 << 20
"""A batch takes so much at least: below, what each costs by itself counts alone."""
_FIRST = 8
"""The first one takes this part of what is allowed: nothing was measured yet."""
_GROWTH = 4
"""A batch takes so many times what the one before took at the most: a small one tells little of a large one."""


class TimedBatches:
    """Chooses sizes by how long the batches before took.

    Args:
        seconds: how long a batch is to take; 0: size alone counts.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next: float | None = None

    def took(self, size: int, seconds: float, *, whole: bool) -> None:
        """A batch is delivered.

        Args:
            size: how many bytes of the log it took; 0: not known.
            seconds: how long its delivery took.
            whole: whether it had all that there was, so that another size would not have made it larger.
        """
        if not (self._seconds and size and seconds) or (whole and seconds < self._seconds):
            return
        self._next = min(size * self._seconds / seconds, size * _GROWTH)

    def size(self, most: int) -> int:
        """How many bytes the next one takes.

        Args:
            most: how many are allowed.
        """
        if not self._seconds:
            return most
        wanted = most / _FIRST if self._next is None else self._next
        return min(most, max(LEAST_BYTES, int(wanted)))
