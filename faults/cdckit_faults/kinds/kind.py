"""What a kind of fault is, and one fault of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from cdckit_faults.stage import Stage

Play = Callable[[Stage, random.Random], None]
"""Does the harm and mends it, while the load writes; everything about it is drawn from the random numbers."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault.

    Attributes:
        name: for the command line and the table.
        group: what is harmed.
        summary: what happens.
        holds: what has to hold, beside that nothing is lost, reordered, wrong, or doubled beyond the unsaved.
        play: does it.
        weight: how often it comes, beside others.
        refuses: whether the pipeline has to refuse, so that a driver says how.
        lane: the pipelines that it fits.
        servers: how many servers it needs.
    """

    name: str
    group: str
    summary: str
    holds: str
    play: Play
    weight: float = 1.0
    refuses: bool = False
    lane: str = "file"
    servers: int = 1


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault; its seed makes all of it, so that it can be played again."""

    kind: Kind
    seed: int

    @property
    def name(self) -> str:
        """By which it is played again: `KIND:SEED`."""
        return f"{self.kind.name}:{self.seed:08x}"
