"""For how long somebody has not answered."""

from __future__ import annotations

import time


class Absence:
    """Begins with the first sign that somebody is away, and ends with the first answer. Read by any thread.

    Attributes:
        since: when it began, by the monotonic clock in seconds; None while nobody is away.
    """

    __slots__ = ("since",)

    def __init__(self) -> None:
        self.since: float | None = None

    def begin(self) -> None:
        """No answer is there yet, or there was none; what has begun already goes on."""
        if self.since is None:
            self.since = time.monotonic()

    def end(self) -> None:
        """There is an answer."""
        self.since = None

    @property
    def seconds(self) -> float:
        """How long it has lasted; 0 while nobody is away."""
        since = self.since
        return 0.0 if since is None else time.monotonic() - since
