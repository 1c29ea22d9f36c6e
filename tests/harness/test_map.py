"""The map in CONTRIBUTING names each folder of the house, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOTS = ("core", "plugins", "sinks", "transforms", "testkit", "faults")
"""Folders whose rooms are named one by one; of the others their name is enough."""


def _named() -> Iterator[Path]:
    """The folders of the map: two spaces more lead one folder deeper, two spaces behind the names begin the words."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = text.partition("## The house in one minute\n\n")[2].partition("\n\n")[0].splitlines()
    above: dict[int, Path] = {0: Path()}
    for line in lines:
        depth = len(line[4:]) - len(line[4:].lstrip())
        names = re.split(r"\s{2,}", line.strip())[0].split()
        for name in names:
            above[depth + 2] = above[depth] / name
            yield above[depth + 2]


def _rooms() -> set[Path]:
    files = [path.relative_to(ROOT) for root in ROOTS for path in (ROOT / root).rglob("*.py")]
    return {path.parent for path in files}


def test_each_room_is_named() -> None:
    named = list(_named())
    assert len(named) == len(set(named))
    assert _rooms() - set(named) == set(), "not in the map of CONTRIBUTING.md"
    assert {path for path in named if not (ROOT / path).is_dir()} == set(), (
        "in the map of CONTRIBUTING.md, but not there"
    )


def test_each_folder_at_the_top_is_named() -> None:
    tops = {path.parts[0] for path in _named()}
    assert {path.parent.name for path in ROOT.glob("*/*.py")} <= tops
