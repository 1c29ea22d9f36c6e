"""Trying again after a source or a sink was away."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

from cdckit.api.retry_schedule import RetrySchedule, Wait
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import SinkError, SnapshotDueError, SourceError, number_of

log = logging.getLogger("cdckit.runner")

_MOST_ANEW = 5
"""So often in a row a snapshot begins anew for one reason."""
_IN_A_ROW_SECONDS = 600.0
"""What comes later than that has another cause: rows were read, and a table changed once more."""


class Retries:
    """Counts attempts in a row, and waits before each of them as the source's schedule says.

    Attributes:
        attempts: how many there have been since something was read.
    """

    def __init__(self, schedule: RetrySchedule, stopping: StopSignal) -> None:
        self.attempts = 0
        self._schedule = schedule
        self._stopping = stopping
        self._reached = False
        self._waits: Iterator[Wait] = iter(())
        self._anew, self._anew_times, self._anew_at = "", 0, 0.0

    @property
    def due(self) -> bool:
        """Whether the source is waited for: it was read from already, or is waited for at the start, too.

        Where the pipeline is to stop, its being away is no error any more.
        """
        return self._reached or self._schedule.at_start or self._stopping()

    def reached(self) -> None:
        """The source has answered: from now on it is one that was there before, though nothing may have been read."""
        if not self._reached:
            self.progressed()

    def begins_anew(self, error: SnapshotDueError) -> None:
        """A snapshot has to begin anew, as the source, which has answered, says.

        Raises:
            SourceError: it has had to several times in a row for the same reason, and would have to without end.
        """
        self.reached()
        reason, now = str(error), time.monotonic()
        again = reason == self._anew and now - self._anew_at <= _IN_A_ROW_SECONDS
        self._anew, self._anew_times, self._anew_at = reason, self._anew_times + 1 if again else 1, now
        if self._anew_times >= _MOST_ANEW:
            raise SourceError(
                f"{reason}; so it was {_MOST_ANEW} times in a row. Where that is a definition which nobody changes "
                "now, the source's log tells another one than the source shows: `cdc offsets reset FILE` takes a new "
                "snapshot by what it shows. Where the log was lost, have the source keep it for longer than a snapshot "
                "takes, and start again",
                number="CDC3508",
            ) from error

    def progressed(self) -> None:
        """Something was read: the next fault is a new one."""
        self.attempts = 0
        self._reached = True

    def pause(self, error: SourceError | SinkError) -> None:
        """Waits before the next attempt, or until asked to stop.

        Raises:
            SourceError: there have been attempts enough.
            SinkError: the same, of a sink.
        """
        if self._stopping():
            return
        # Each series of faults has the schedule from its begin; what is read in between ends a series.
        if not self.attempts:
            self._waits = self._schedule.waits(reached=self._reached)
        wait = next(self._waits, None)
        if wait is None:
            lasting = SinkError if isinstance(error, SinkError) else SourceError
            raise lasting(f"{error}; gave up after {self.attempts} attempts ({self._schedule.options})") from error
        self.attempts += 1
        facts = {"number": number_of(error)}
        log.warning("%s; trying again in %g s (%s)", error, wait.seconds, wait.before, extra=facts)
        self._stopping.wait(wait.seconds)
