"""Looks for a shorter history that still fails."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from histories.steps import Step

Fails = Callable[[Sequence[Step]], str]
"""What goes wrong in a history; "" for nothing."""

FIXED = ("set up",)


def shrunk(steps: Sequence[Step], said: str, fails: Fails, seconds: float) -> tuple[list[Step], str]:
    """A history as short as was found within so many seconds, and what goes wrong in it.

    Steps behind the failure go first; then runs of steps, the longest first; then single statements.

    Args:
        steps: a history that fails.
        said: what goes wrong in it.
        fails: plays a history.
        seconds: how long to look.
    """
    until = time.monotonic() + seconds
    best = list(steps)
    if place := re.match(r"step (\d+)", said):
        best = best[: int(place[1])]

    def try_out(candidate: list[Step]) -> bool:
        nonlocal best, said
        if time.monotonic() > until or candidate == best:
            return False
        found = fails(candidate)
        if not found:
            return False
        best, said = candidate, found
        return True

    size = len(best) // 2
    while size:
        at = 0
        while at < len(best):
            part = best[at : at + size]
            kept = [step for step in part if step.kind in FIXED]
            if len(kept) == len(part) or not try_out(best[:at] + kept + best[at + size :]):
                at += size
        size //= 2
    for number in range(len(best)):
        _without_statements(best, number, try_out, lambda: best)
    return best, said


def _without_statements(
    best: list[Step], number: int, try_out: Callable[[list[Step]], bool], now: Callable[[], list[Step]]
) -> None:
    """Leaves out statements of one step, the last first."""
    if not best[number].parts:
        return
    for index in reversed(range(len(best[number].statements))):
        present = now()
        step = present[number]
        if len(step.statements) < 2 or step.statements[index].startswith(("SET ", "BEGIN", "CREATE TABLE")):
            continue
        fewer = step.statements[:index] + step.statements[index + 1 :]
        try_out([*present[:number], replace(step, statements=fewer), *present[number + 1 :]])
