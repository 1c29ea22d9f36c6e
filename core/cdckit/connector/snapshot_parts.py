"""Parts of a snapshot that may be read at the same time, shared out among readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

MOST_TABLES = 500
"""A batch has parts of no more tables: what it costs to write into a table does not hang on its rows alone."""


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


class BatchQuota:
    """What one batch takes of the parts of a snapshot that are left.

    Args:
        rows: how many rows; 0: that is told in bytes.
        max_bytes: how many bytes.
        whole: whether it ends with the end of a table.
    """

    def __init__(self, rows: int, max_bytes: int, *, whole: bool) -> None:
        self._most_rows = rows
        self._most_bytes = max_bytes
        self._whole = whole
        self._rows = 0
        self._bytes = 0
        self._names: set[str] = set()

    def filled(self, name: str, rows: int, row_bytes: int, *, last: bool) -> bool:
        """Takes a part; whether the batch ends with it.

        Args:
            name: its table's.
            rows: about how many it has.
            row_bytes: about how many bytes each takes.
            last: whether it is the last one of its table.
        """
        self._names.add(name)
        self._rows += rows
        self._bytes += rows * row_bytes
        reached = self._rows >= self._most_rows if self._most_rows else self._bytes >= self._most_bytes
        return (reached or len(self._names) >= MOST_TABLES) and (last or not self._whole)
