"""How long the newest change took on its way: to be read, and to be safe in the sink."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(slots=True)
class Pace:
    """The way of the newest delivered change. Times are in seconds since 1970.

    Attributes:
        read_at: when the runner was given the newest change of those that it commits next; None: it does not tell.
        begun_at: when it was given the first of them; whoever looks at it sets it to None.
        source_lag: how old the newest delivered change was when it was read, in seconds; None: not known.
        sink_lag: how long after that it was safe in the sink.
    """

    read_at: float | None = None
    begun_at: float | None = None
    source_lag: float | None = None
    sink_lag: float | None = None

    def read(self) -> None:
        """The runner was given a change."""
        self.read_at = time.time()
        if self.begun_at is None:
            self.begun_at = self.read_at

    def committed(self, made_at: float, saved_at: float) -> None:
        """The change is safe.

        Args:
            made_at: when it was committed at the source.
            saved_at: when it was safe.
        """
        if self.read_at is not None:
            self.source_lag = max(0.0, self.read_at - made_at)
            self.sink_lag = max(0.0, saved_at - self.read_at)
