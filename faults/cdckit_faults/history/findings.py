"""What can be wrong with a pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The kinds of what is wrong; `HELD` where nothing is."""

    HELD = "held"
    LOST = "lost"
    """A change has not arrived, or something behind it has arrived without it."""
    REORDERED = "reordered"
    """A change has arrived behind a later one of its key."""
    DOUBLED = "doubled"
    """A change has come again that was saved, or in a run that was not interrupted."""
    WRONG = "wrong"
    """A record says what was never committed."""
    ENDED = "ended"
    """The pipeline has ended where it has to go on, or with an exit code that tells of something else."""
    UNREFUSED = "unrefused"
    """The pipeline went on, or ended well, where it has to refuse."""
    UNNAMED = "unnamed"
    """It refused, and its error does not say what is wrong and what to do."""
    STUCK = "stuck"
    """The pipeline neither delivers nor ends."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        verdict: its kind.
        told: where and what, for people.
    """

    verdict: Verdict
    told: str


class BrokenPromiseError(Exception):
    """A fault has shown something that is wrong; what it has to show further cannot be looked at."""

    def __init__(self, verdict: Verdict, told: str) -> None:
        self.finding = Finding(verdict, told)
        super().__init__(f"{verdict}: {told}")
