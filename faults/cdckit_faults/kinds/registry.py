"""All kinds, and the faults of a series."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable

from cdckit_faults.drivers.driver import Driver
from cdckit_faults.kinds import broker, connection, delivery, process, server, spark
from cdckit_faults.kinds.kind import Fault, Kind

KINDS: dict[str, Kind] = {
    kind.name: kind for module in (process, connection, server, delivery, broker, spark) for kind in module.KINDS
}


def taken_by(drivers: Iterable[type[Driver]]) -> list[Kind]:
    """The kinds that one of these drivers takes."""
    found = list(drivers)
    return [kind for kind in KINDS.values() if any(takes(driver, kind) for driver in found)]


def takes(driver: type[Driver], kind: Kind) -> bool:
    """Whether a driver takes a kind."""
    return driver.lane == kind.lane and (not kind.refuses or kind.name in driver.refusals)


def planned(kinds: Collection[Kind], faults: int, seed: int) -> list[Fault]:
    """The faults of a series: one of each kind at least where there is room, the others by their weights."""
    chance = random.Random(seed)
    chosen = chance.sample(list(kinds), min(faults, len(kinds)))
    chosen += chance.choices(list(kinds), [kind.weight for kind in kinds], k=faults - len(chosen))
    chance.shuffle(chosen)
    return [Fault(kind, chance.getrandbits(32)) for kind in chosen]


def read_fault(name: str) -> Fault:
    """The fault that a name stands for.

    Raises:
        ValueError: it is the name of none.
    """
    kind, _, seed = name.partition(":")
    if kind not in KINDS:
        raise ValueError(f"{name}: there is no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    try:
        return Fault(KINDS[kind], int(seed, 16))
    except ValueError as error:
        raise ValueError(f"{name}: {seed!r} is no seed; a fault's name is KIND:SEED, the seed hexadecimal") from error
