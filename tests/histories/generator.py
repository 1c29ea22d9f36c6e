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
AROUND = {"remove": 2, "remove beside": 2, "interval": 1, "checkpoint": 2, "switch": 3, "away": 2}
"""What happens around a pipeline, where it is asked for: to its tables, to its file, to the way to its source."""
_EARLY = frozenset(("checkpoint", "switch", "away"))
"""What may come before the first tables."""
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


def with_around(seed: int, steps: list[Step], kinds: Collection[str]) -> list[Step]:
    """The same with some of what happens around a pipeline, now and then behind a kill."""
    chance, weights = Random(f"around {seed}"), {kind: often for kind, often in AROUND.items() if kind in kinds}
    for _ in range(chance.randint(3, 6)):
        [kind] = chance.choices(list(weights), list(weights.values()))
        place = chance.randint(2 if kind in _EARLY else 3, len(steps) - 1)
        killed = [_happening(chance, "kill")] if chance.random() < 0.3 else []
        steps = [*steps[:place], *killed, _happening(chance, kind), *steps[place:]]
    return steps


def _with(kind: str, chance: Random, steps: list[Step]) -> list[Step]:
    if any(step.kind == kind for step in steps):
        return steps
    place = chance.randint(3, len(steps) - 1)
    return [*steps[:place], _happening(chance, kind), *steps[place:]]
