"""The state store `file`: each pipeline's state in a folder of its own."""

from __future__ import annotations

from cdckit.api.state_store import StateBackend, StateStore, StateView
from cdckit.engine.state.file_config import FileStateConfig
from cdckit.engine.state.sqlite import SqliteStateStore, SqliteStateView


class FileBackend(StateBackend):
    """Keeps the state of one pipeline in a folder of this machine."""

    def __init__(self, config: FileStateConfig) -> None:
        assert config.path is not None  # a pipeline gives it one
        self._folder = config.path

    def open(self, pipeline: str) -> StateStore:
        """The state, held."""
        return SqliteStateStore(self._folder)

    def view(self, pipeline: str) -> StateView:
        """A look at it."""
        return SqliteStateView(self._folder)
