"""Faults of the connection between the pipeline and its server."""

from __future__ import annotations

import random
import time

from cdckit_faults.kinds.kind import Kind
from cdckit_faults.stage import Stage

_MOST = 4000
"""Harm is done at one of so many bytes from the server."""


def _cut(stage: Stage, chance: random.Random) -> None:
    """At a byte, and sometimes again while it connects anew."""
    cuts = chance.choice((1, 1, 2, 3))
    for _ in range(cuts):
        before = stage.line.cuts
        stage.line.cut_after(chance.randint(1, _MOST))
        stage.wait_until(lambda before=before: stage.line.cuts > before, 4)  # type: ignore[misc]
    stage.line.mend()
    stage.notes.append(f"{cuts} times")


def _slow(stage: Stage, chance: random.Random) -> None:
    pace = chance.uniform(2e3, 1e5)
    stage.line.slow(pace)
    time.sleep(chance.uniform(0.5, 2.0))
    stage.line.slow(None)
    stage.notes.append(f"{pace / 1000:.0f} kB/s")


def _half_open(stage: Stage, chance: random.Random) -> None:
    """New connections are silent, too, until the line is mended."""
    stage.line.silence_after(chance.randint(1, _MOST))
    stage.wait_until(lambda: stage.line.silent, 4)
    time.sleep(chance.uniform(0, 3))
    stage.line.mend()


def _corrupt(stage: Stage, chance: random.Random) -> None:
    """The pipeline may end, as on a damaged log; a new start reads the same place without the damage."""
    stage.ends_as = "corrupt"
    before = stage.line.corrupted
    stage.line.corrupt_after(chance.randint(1, _MOST), chance.randrange(8))
    stage.wait_until(lambda: stage.line.corrupted > before, 4)
    stage.line.mend()
    time.sleep(chance.uniform(0.1, 0.5))


def _refuse(stage: Stage, chance: random.Random) -> None:
    stage.line.refuse()
    time.sleep(chance.uniform(0.1, 1.5))
    stage.line.accept()


KINDS = (
    Kind("cut", "connection", "cut at a random byte, up to three times in a row", "", _cut, weight=14),
    Kind("slow", "connection", "2 to 100 kB a second for up to 2 s", "", _slow, weight=10),
    Kind("half-open", "connection", "silent from a random byte on, for up to 3 s", "", _half_open, weight=10),
    Kind(
        "corrupt",
        "connection",
        "a bit of a random byte turned, without TLS",
        "ends with an error of the source or of decoding and goes on when started again, or connects anew",
        _corrupt,
        weight=8,
        refuses=True,
    ),
    Kind("refuse", "connection", "taken and hung up on for up to 1.5 s", "", _refuse, weight=8),
)
