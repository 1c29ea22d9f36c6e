"""A history: steps, one after another, that can be kept in a file, cut short and played again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

CHECK = "check"
"""The step that delivers and compares."""
DELIVER = "deliver"
"""The step that delivers what there is, and compares nothing."""

DIVISIBLE = ("first rows", "rolled back transaction", "savepoint transaction", "transaction")
"""The kinds of steps of which single statements may be left out."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        kind: its class, by which it is switched on and off.
        statements: SQL that one session runs in the history's database, one after another; what the server refuses has
            not happened. None where the step is no change of data.
        facts: whatever else the step needs to be played.
        parts: whether statements may be left out one by one when a shorter history is looked for.
    """

    kind: str
    statements: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    parts: bool = False

    def renamed(self, old: str, new: str) -> Step:
        """The same with another name of a column."""
        return replace(self, statements=tuple(statement.replace(old, new) for statement in self.statements))


def written(steps: Iterable[Step]) -> str:
    """The steps as a file that `python -m histories --replay FILE` plays: a line of JSON each."""
    return "".join(json.dumps(_plain(step), ensure_ascii=False) + "\n" for step in steps)


def read(text: str) -> list[Step]:
    """The steps of such a file."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        [(kind, content)] = json.loads(line).items()
        if isinstance(content, dict):
            found.append(Step(kind, facts=content))
        else:
            found.append(Step(kind, tuple(content), parts=kind in DIVISIBLE))
    return found


def _plain(step: Step) -> dict[str, Any]:
    return {step.kind: step.facts or step.statements}
