"""Faults planted into the file sink's lines: what a broken capture or delivery would leave there."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

Line = dict[str, Any]


class Lines:
    """The lines of one file, by key in their order.

    Args:
        text: the file's.
    """

    def __init__(self, text: str) -> None:
        self.lines: list[Line | None] = [json.loads(line) for line in text.splitlines()]
        self.of: dict[int, list[int]] = {}
        for number, line in enumerate(self.lines):
            assert line is not None
            self.of.setdefault(line["key"]["id"], []).append(number)

    def text(self) -> str:
        return "".join(f"{json.dumps(line)}\n" for line in self.lines if line is not None)

    def row(self, key: int) -> dict[str, Any]:
        """The newest row of a key, to be changed."""
        line = self.lines[self.of[key][-1]]
        assert line is not None
        row: dict[str, Any] = line["value"]["after"]
        return row


def dropped(lines: Lines, key: int) -> None:
    """The newest event of the key is not there."""
    lines.lines[lines.of[key][-1]] = None


def doubled(lines: Lines, key: int) -> None:
    """An event came once more under another key."""
    copy = json.loads(json.dumps(lines.lines[lines.of[key][-1]]))
    copy["key"]["id"] = copy["value"]["after"]["id"] = key + 1_000_000
    lines.lines.append(copy)


def altered(lines: Lines, key: int) -> None:
    lines.row(key)["kind"] = "c"


def nulled(lines: Lines, key: int) -> None:
    lines.row(key)["price"] = None


def reordered(lines: Lines, key: int) -> None:
    """The row's first version came once more at the end, and wins."""
    older = json.loads(json.dumps(lines.lines[lines.of[key][0]]))
    if len(lines.of[key]) == 1:
        older["value"]["after"]["name"] = "the name before"
    lines.lines.append(older)


def wrong_zone(lines: Lines, key: int) -> None:
    lines.row(key)["placed"] += 3_600_000_000


def truncated(lines: Lines, key: int) -> None:
    row = lines.row(key)
    row["name"] = row["name"][:-1]


def noisy(lines: Lines, key: int) -> None:
    """The next number that a double can be."""
    row = lines.row(key)
    row["ratio"] = math.nextafter(row["ratio"], math.inf)


FAULTS: tuple[Callable[[Lines, int], None], ...] = (
    dropped, doubled, altered, nulled, reordered, wrong_zone, truncated, noisy,
)  # fmt: skip


def plant(text: str, count: int, seed: int) -> tuple[str, dict[int, str]]:
    """So many faults at keys of their own.

    Returns:
        The text with them, and the name of the fault by the key that shows it.
    """
    lines, choice = Lines(text), random.Random(seed)
    whole = [key for key, numbers in lines.of.items() if key % 10 and _there(lines, numbers)]
    planted: dict[int, str] = {}
    for number, key in enumerate(choice.sample(whole, count)):
        fault = FAULTS[number % len(FAULTS)]
        fault(lines, key)
        planted[key + 1_000_000 if fault is doubled else key] = fault.__name__
    return lines.text(), planted


def _there(lines: Lines, numbers: list[int]) -> bool:
    last = lines.lines[numbers[-1]]
    return last is not None and last["value"] is not None and last["value"]["after"] is not None
