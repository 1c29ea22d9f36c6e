"""A system under test, and what was measured of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from benchmarks.pipelines import Options, Placed
from benchmarks.usage import Usage


@dataclass(frozen=True, slots=True)
class Measured:
    """One scenario of one system.

    Attributes:
        scenario: what was captured.
        system: by whom.
        events: how many.
        usage: what it took.
        start: what a start alone takes.
    """

    scenario: str
    system: str
    events: int
    usage: Usage
    start: Usage

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU an event, start-up taken off."""
        return max(0.0, self.usage.cpu - self.start.cpu) / self.events * 1e6

    @property
    def rate(self) -> float | None:
        """Events a second, start-up taken off; None where hardly more than that is left."""
        seconds = self.usage.wall - self.start.wall
        return self.events / seconds if seconds > self.start.wall / 10 else None


class System(Protocol):
    """A system under test, which captures some events and ends."""

    @property
    def name(self) -> str:
        """For the table."""

    @property
    def options(self) -> Options:
        """Of the connector."""

    def capture(self, pipeline: Placed, events: int) -> Usage:
        """Captures `events` events to their end.

        Raises:
            AssertionError: it delivered another number: a figure counts only if the work was done.
        """
