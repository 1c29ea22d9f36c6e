"""Histories out of random numbers: the same for the same seed."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from histories.changes import CHANGES, Tables, step_of
from histories.definitions import DEFINITIONS
from histories.steps import CHECK, DELIVER, Step
from histories.tables import new_tables

FAULTS = {
    "server restart": 1,
    "server kill": 1,
    "flush logs": 1,
    "kill": 2,
    "incremental snapshot": 2,
    "resnapshot": 1,
}
"""What happens beside changes, and how often each comes."""
LAKE_FAULTS = {"optimize": 1, "vacuum": 1, "kill worker": 1, "kill planner": 1}
"""The same where tables are kept in a lake."""
FAILOVERS = {"failover": 3}
"""The same where a primary has replicas."""
KINDS = frozenset((*CHANGES, *DEFINITIONS, *FAULTS, *LAKE_FAULTS, *FAILOVERS))
"""Every kind of step that can be switched off."""
SMALL_STEPS = 15
"""So many steps has a small history, besides those that deliver."""


def history(seed: int, kinds: Collection[str] = KINDS, most_tables: int = 4, small: int | None = None) -> list[Step]:
    """The steps of a seed.

    Args:
        seed: of the random numbers.
        kinds: the kinds of steps that are switched on, besides those that deliver.
        small: how many steps a small history has, which delivers three times; None for a long one, as the seed says.
        most_tables: how many tables there are at the most when it begins, where shards count as one.
    """
    chance = Random(seed)
    tables = new_tables(chance, most_tables)
    steps = [
        Step("set up", tuple(table.created() for table in tables.values())),
        step_of("first rows", tuple(table.inserted(chance, 8, "INSERT IGNORE") for table in tables.values())),
        Step(CHECK),
    ]
    weights = _weights(kinds)
    length = small or chance.randint(10, 40)
    every = (length + 1) // 2 if small else chance.randint(5, 12)
    for number in range(1, length):
        steps.append(_step(chance, tables, weights))
        if number % every == 0:
            steps.append(Step(CHECK))
        elif not small and chance.random() < 0.1:
            steps.append(Step(DELIVER))
    return [*steps, _step(chance, tables, weights), Step(CHECK)]


def _weights(kinds: Collection[str]) -> dict[str, int]:
    every = {kind: weight for kind, (weight, _) in (*CHANGES.items(), *DEFINITIONS.items())}
    return {kind: weight for kind, weight in (every | FAULTS | LAKE_FAULTS | FAILOVERS).items() if kind in kinds}


def _step(chance: Random, tables: Tables, weights: dict[str, int]) -> Step:
    """A step of one of the kinds that the tables allow."""
    while True:
        [kind] = chance.choices(list(weights), list(weights.values()))
        if kind in CHANGES:
            made = CHANGES[kind][1](chance, tables)
            if made:
                return step_of(kind, made)
        elif kind in DEFINITIONS:
            statements = DEFINITIONS[kind][1](chance, tables)
            if statements:
                return Step(kind, tuple(statements))
        else:
            return _happening(chance, kind)


def _happening(chance: Random, kind: str) -> Step:
    return Step(kind, facts={"chance": chance.getrandbits(30)})


def with_failover(seed: int, steps: list[Step]) -> list[Step]:
    """The steps, with a failover between two of them where none has come by itself."""
    return _with("failover", Random(-seed), steps)


def with_vacuum(seed: int, steps: list[Step]) -> list[Step]:
    """The same with what removes a lake's older versions."""
    return _with("vacuum", Random(f"vacuum {seed}"), steps)


def _with(kind: str, chance: Random, steps: list[Step]) -> list[Step]:
    if any(step.kind == kind for step in steps):
        return steps
    place = chance.randint(3, len(steps) - 1)
    return [*steps[:place], _happening(chance, kind), *steps[place:]]
