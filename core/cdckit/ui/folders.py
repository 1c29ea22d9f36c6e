"""Where pipelines' state folders are, below the folders that a user names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from cdckit.engine.metrics.status_file import STATUS

MARKS = frozenset({STATUS, "state.db"})
"""A folder that has one of these is a pipeline's state folder."""
_DEEPEST = 3
_MOST = 5_000
"""So many pipelines are shown."""


def state_folders(roots: Sequence[Path]) -> list[Path]:
    """The state folders among the roots and up to three folders below them, each once."""
    found: dict[Path, None] = {}
    for root in roots:
        for folder in _below(root, _DEEPEST):
            found[folder.resolve()] = None
            if len(found) >= _MOST:
                return list(found)
    return list(found)


def _below(folder: Path, deeper: int) -> Iterator[Path]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    if any(entry.name in MARKS for entry in entries):
        yield folder
        return
    if deeper:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield from _below(Path(entry.path), deeper - 1)
