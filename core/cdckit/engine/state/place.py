"""Where a pipeline's state is: its store, and the pipeline's folder on this machine."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cdckit.api.plugins import make
from cdckit.api.state_store import Json, StateBackend, StateStore, StateView
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.state.state_format import require_readable


@dataclass(frozen=True, slots=True)
class StatePlace:
    """The place of one pipeline's state.

    Attributes:
        pipeline: the pipeline's name.
        folder: what belongs to this machine: the status, signals, Spark's checkpoints unless they stand elsewhere.
        backend: has offsets, schema history and snapshot progress.
        quarantine: the folder of the records in quarantine; None where there is none.
    """

    pipeline: str
    folder: Path
    backend: StateBackend
    quarantine: Path | None = None

    @classmethod
    def of(cls, pipeline: ResolvedPipeline) -> Self:
        """That of a pipeline.

        Raises:
            ConfigError: a package that its store needs is missing.
        """
        backend: StateBackend = make(pipeline.store.registration, pipeline.store.config)
        return cls(pipeline.name, pipeline.folder, backend, pipeline.errors.folder)

    def open(self) -> StateStore:
        """The state, held until it is closed.

        Raises:
            StateHeldError: another process holds it.
            StateError: it cannot be opened, or is of a newer version.
        """
        state = self.backend.open(self.pipeline)
        try:
            require_readable(state, self.pipeline)
        except BaseException:
            state.close()
            raise
        return state

    def view(self) -> closing[StateView]:
        """A look at the state, which another process may hold.

        Raises:
            StateError: it cannot be read.
        """
        return closing(self.backend.view(self.pipeline))

    def kept(self, key: str) -> Json:
        """A value kept under `key`, or None.

        Raises:
            StateError: the state cannot be read.
        """
        with self.view() as view:
            return view.get(key)
