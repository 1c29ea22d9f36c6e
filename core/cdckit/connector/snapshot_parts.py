"""Parts of a snapshot that may be read at the same time, shared out among readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar


class SnapshotPart(Protocol):
    """Some rows of a table, or documents of a collection."""

    @property
    def estimate(self) -> int:
        """About how many they are."""


Part = TypeVar("Part", bound=SnapshotPart)


def share_out(parts: Sequence[Part], parallelism: int) -> list[list[Part]]:
    """The parts in at the most `parallelism` groups of about the same size, each in the given order."""
    groups: list[list[int]] = [[] for _ in range(min(parallelism, len(parts)))]
    loads = [0] * len(groups)
    for number in sorted(range(len(parts)), key=lambda each: -parts[each].estimate):
        least = loads.index(min(loads))
        groups[least].append(number)
        loads[least] += parts[number].estimate + 1
    return [[parts[number] for number in sorted(group)] for group in groups]


def estimate_of(parts: Sequence[SnapshotPart]) -> int:
    """About how many rows or documents some parts have."""
    return sum(part.estimate for part in parts)
