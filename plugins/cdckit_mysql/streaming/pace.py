"""How fast a planner takes the log from its source."""

from __future__ import annotations

import time
from collections.abc import Callable

_AHEAD = 0.1
"""So many seconds' worth may come at once: a socket gives what it has."""
_MOMENT = 0.25
"""A wait is broken off after so many seconds at the most, once nobody wants what it is for."""


class Pace:
    """Holds whoever takes bytes to so many a second.

    What is not taken while nobody asks is not made up for later.

    Args:
        bytes_per_second: the limit.
        clock: tells seconds.
        sleep: waits for seconds.
    """

    def __init__(
        self,
        bytes_per_second: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = bytes_per_second
        self._clock = clock
        self._sleep = sleep
        self._paid = clock()

    def took(self, size: int, wanted: Callable[[], bool]) -> None:
        """So many bytes were taken: waits until more may be, or nobody wants them."""
        self._paid = max(self._paid, self._clock()) + size / self._rate
        while wanted() and (left := self._paid - self._clock() - _AHEAD) > 0:
            self._sleep(min(left, _MOMENT))
