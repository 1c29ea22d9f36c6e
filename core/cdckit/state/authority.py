"""Opens a pipeline's state for whichever runner comes next."""

from __future__ import annotations

from pathlib import Path

from cdckit.state.sqlite import SqliteStateStore
from cdckit.state.store import StateStore


def open_state(folder: Path) -> StateStore:
    """The state store of a pipeline, held until it is closed.

    Raises:
        StateError: it cannot be opened, or another pipeline holds it.
    """
    return SqliteStateStore(folder)
