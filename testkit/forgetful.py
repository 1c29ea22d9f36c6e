"""Pipelines that have their state in a store elsewhere, and lose what is on their machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cdckit import StateBackend
from cdckit.api.record import Offset
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import current_offset
from testkit.running import Pipeline, Running


@dataclass(frozen=True)
class Forgetful(Pipeline):
    """A pipeline whose folder on this machine is lost before each run; its name is `p`."""

    store: StateBackend | None = None

    @classmethod
    def of(
        cls,
        folder: Path,
        source: Mapping[str, Any],
        sink: Mapping[str, Any],
        state: Mapping[str, Any],
        store: StateBackend,
    ) -> Self:
        """One that saves often.

        Args:
            folder: where its files are.
            source: options of the source.
            sink: the sink, type and all.
            state: the state store, type and all.
            store: the same store.
        """
        others = {
            "name": "p",
            "state": state,
            "local.folder": "here",
            "serializer": {"schemas.enable": False},
            "offset.flush.interval.ms": 50,
        }
        return cls(folder, source, sink, others, store=store)

    @property
    def state(self) -> Path:
        """What is lost: the folder of what belongs to this machine."""
        return self.folder / "here"

    @contextmanager
    def running(self, *arguments: str, limit: Callable[[], None] | None = None) -> Iterator[Running]:
        """Calls `cdc run` where nothing is left of the last one."""
        shutil.rmtree(self.state, ignore_errors=True)
        with super().running(*arguments, limit=limit) as process:
            yield process

    def offset(self) -> Offset | None:
        """The saved offset, out of the store."""
        assert self.store is not None
        return current_offset(StatePlace("p", self.state, self.store))
