"""Twins that have to be caught: drivers of a pipeline that drops, doubles, reorders or alters, or hides an error."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from cdckit_faults.drivers.driver import Driver
from cdckit_faults.history.record import Record
from cdckit_faults.series import Product
from cdckit_faults.stage import NewDriver
from testkit.journal import Change

_EVERY = 25
"""About one record of so many is harmed."""

Harmed = Callable[[Iterable[Record], random.Random], Iterator[Record]]
"""Records of which some are not what was delivered."""


def dropped(records: Iterable[Record], chance: random.Random) -> Iterator[Record]:
    """Some are missing."""
    return (record for record in records if not _is_one(record, chance))


def doubled(records: Iterable[Record], chance: random.Random) -> Iterator[Record]:
    """Some come again at once."""
    for record in records:
        yield record
        if _is_one(record, chance):
            yield record


def reordered(records: Iterable[Record], chance: random.Random) -> Iterator[Record]:
    """Some come behind the next one of their key."""
    held: dict[object, Record] = {}
    for record in records:
        if record.key in held:
            yield record
            yield held.pop(record.key)
        elif record.change.op == "u" and chance.random() < 0.5:
            held[record.key] = record
        else:
            yield record
    yield from held.values()


def altered(records: Iterable[Record], chance: random.Random) -> Iterator[Record]:
    """Some have another value."""
    for record in records:
        if _is_one(record, chance):
            yield replace(record, change=Change(record.change.op, f"{record.change.token}x"))
        else:
            yield record


def _is_one(record: Record, chance: random.Random) -> bool:
    return record.change.token is not None and record.change.op != "r" and chance.randrange(_EVERY) == 0


Overriding = Callable[[type[Driver]], Mapping[str, object]]
"""The methods of a driver's twin that tell something else."""
HARMS: dict[str, Harmed] = {"drop": dropped, "double": doubled, "reorder": reordered, "alter": altered}
"""What is done to the records."""
TWINS = (*HARMS, "swallow", "mumble")
"""All twins: `swallow` ends well where the pipeline has refused, `mumble` does not say why."""


def twin_of(product: Product, twin: str | None) -> Product:
    """A product with a fault of its own; None leaves it as it is."""
    return product if twin is None else Product(product.drivers, lambda driver: _made(driver, twin))


def _made(driver: type[Driver], twin: str) -> NewDriver:
    """A driver that tells something else than what is so."""
    return type(f"{twin.title()}{driver.__name__}", (driver,), dict(_OVERRIDING[twin](driver)))


def _harming(harm: Harmed) -> Overriding:
    """Delivers other records than the pipeline has."""

    def of(driver: type[Driver]) -> Mapping[str, object]:
        def delivered(self: Driver) -> Iterator[Record]:
            return harm(list(driver.delivered(self)), random.Random(self.runs))

        return {"delivered": delivered}

    return of


def _swallowing(driver: type[Driver]) -> Mapping[str, object]:
    """Ends with 0, whatever has happened."""

    def ended_with(self: Driver) -> int | None:
        return None if driver.ended_with(self) is None else 0

    return {"ended_with": ended_with}


def _mumbling(_driver: type[Driver]) -> Mapping[str, object]:
    """Ends as it should, and says nothing of the reason."""
    return {"said": lambda _: "something went wrong"}


_OVERRIDING: Mapping[str, Overriding] = {
    **{name: _harming(harm) for name, harm in HARMS.items()},
    "swallow": _swallowing,
    "mumble": _mumbling,
}
