"""Where pipelines' state folders are, below the folders that a user names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from cdckit.engine.metrics.status_file import STATUS

MARKS = frozenset({STATUS, "state.db"})
"""A folder that has one of these is a pipeline's state folder."""
_DEEPEST = 3
_MOST = 5_000
"""So many pipelines are shown."""
_MOST_LOOKED_AT = 20_000
"""So many folders are looked at."""


def state_folders(roots: Sequence[Path]) -> list[Path]:
    """The state folders among the roots and up to three folders below them, each once."""
    found: dict[Path, None] = {}
    for folder in islice(_folders(roots), _MOST_LOOKED_AT):
        if folder.is_state and len(found) < _MOST:
            found[folder.path.resolve()] = None
    return list(found)


class _Folder(NamedTuple):
    path: Path
    is_state: bool


def _folders(roots: Sequence[Path]) -> Iterator[_Folder]:
    for root in roots:
        yield from _below(root, _DEEPEST)


def _below(folder: Path, deeper: int) -> Iterator[_Folder]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    is_state = any(entry.name in MARKS for entry in entries)
    yield _Folder(folder, is_state)
    if is_state or not deeper:
        return
    for entry in sorted(entries, key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from _below(Path(entry.path), deeper - 1)
