"""Which of the small histories `make test` plays: so few that each kind of step comes with each sink."""

from __future__ import annotations

from collections.abc import Mapping

from histories.generator import history
from histories.switches import kinds_of


def daily(sinks: Mapping[int, str], small: int) -> list[int]:
    """Seeds whose histories have, together, whatever those of all the seeds have.

    Args:
        sinks: the sink of each seed.
        small: how many steps a small history has.
    """
    has = {
        seed: {(sink, step.kind) for step in history(seed, kinds_of(sink), 4, small)} for seed, sink in sinks.items()
    }
    missing = set().union(*has.values())
    found = []
    while missing:
        best = max(has, key=lambda seed: len(has[seed] & missing))
        missing -= has[best]
        found.append(best)
    return sorted(found)
