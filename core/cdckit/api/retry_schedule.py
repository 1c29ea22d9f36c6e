"""When a source that is away is asked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

_DOUBLINGS = 30
"""More would only make numbers larger that `longest_wait` cuts."""


class Wait(NamedTuple):
    """The wait before an attempt.

    Attributes:
        seconds: how long.
        before: which attempt it is, for people.
    """

    seconds: float
    before: str


@dataclass(frozen=True, slots=True)
class RetrySchedule:
    """Rounds of attempts. In a round waits double; a round that fails may be followed by others.

    Attributes:
        attempts: how many make up a round; -1: a round has no end.
        first_wait: before the first attempt of a round, in seconds.
        longest_wait: up to which waits double, in seconds.
        restarts: how many rounds follow the first one; -1: without end.
        restart_wait: before each of those, in seconds.
        at_start: whether a source that was not reached yet, that is has planned nothing, is waited for; if so, not
            without end: its address may be wrong.
        options: those that set the end, for the error.
    """

    attempts: int = -1
    first_wait: float = 1.0
    longest_wait: float = 60.0
    restarts: int = 0
    restart_wait: float = 0.0
    at_start: bool = False
    options: str = "errors.max.retries"

    def waits(self, *, reached: bool) -> Iterator[Wait]:
        """The wait before each attempt, from the first one on; there are no more attempts where it ends.

        Args:
            reached: whether the source was there before.
        """
        yield from self._round()
        restarts = self.restarts if reached else max(0, self.restarts)
        for number in _numbers(restarts):
            yield Wait(self.restart_wait, _named("restart", number, restarts))
            yield from self._round()

    def _round(self) -> Iterator[Wait]:
        for number in _numbers(self.attempts):
            doubled = self.first_wait * 2 ** min(number - 1, _DOUBLINGS)
            yield Wait(min(doubled, self.longest_wait), _named("attempt", number, self.attempts))


def _numbers(most: int) -> Iterable[int]:
    return count(1) if most < 0 else range(1, most + 1)


def _named(kind: str, number: int, most: int) -> str:
    return f"{kind} {number}" if most < 0 else f"{kind} {number} of {most}"
