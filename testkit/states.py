"""The states of the store `file`, by their folders."""

from __future__ import annotations

from pathlib import Path

from cdckit.api.record import Offset
from cdckit.api.state_store import Json
from cdckit.engine.state.file import FileBackend
from cdckit.engine.state.file_config import FileStateConfig
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import current_offset


def state_in(folder: Path) -> StatePlace:
    """The state of a pipeline that has all of it in a folder."""
    return StatePlace("p", folder, FileBackend(FileStateConfig(path=folder)))


def offset_in(folder: Path) -> Offset | None:
    """How far the pipeline has come, also while it runs."""
    return current_offset(state_in(folder))


def kept_in(folder: Path, key: str) -> Json:
    """A value that it keeps under `key`, also while it runs."""
    return state_in(folder).kept(key)
