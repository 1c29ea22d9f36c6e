"""One state for both runners: who knows how far the pipeline has come, and how that is handed over.

The direct runner saves offsets in the state store. While Spark runs, its checkpoint is the authority, which the store
notes under `spark`. Whoever opens the state next takes the checkpoint's last committed offset into the store. A Spark
run goes on with the checkpoint that it finds only if that ends at the store's offset; otherwise it starts a new
generation: a fresh checkpoint whose query begins at the store's offset.
"""

from __future__ import annotations

import shutil
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from cdckit.errors import StateError
from cdckit.record import Offset
from cdckit.state.spark_checkpoint import committed_batch
from cdckit.state.sqlite import SqliteStateStore, read_kept, read_state
from cdckit.state.store import Json, StateStore

NOTE = "spark"
"""The store's key of the note about the last Spark run."""

HANDOVER_SECONDS = 15.0
"""How long the processes of a killed Spark run may take to let go of the state."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One checkpoint's life.

    Attributes:
        id: unique for all time, so that a table never takes a batch of one generation for one of another.
        start: the offset that its first batch begins at; None: where the source begins by itself.
        authority: whether its checkpoint, and not the store, knows how far the pipeline has come.
    """

    id: str
    start: Offset | None
    authority: bool

    def checkpoint(self, folder: Path) -> Path:
        """Its checkpoint, in the state folder."""
        return folder / "spark" / self.id


def open_state(folder: Path) -> StateStore:
    """The state store of a pipeline, held until it is closed, with the offset of whichever runner ran last.

    Raises:
        StateError: it cannot be opened, or another pipeline holds it.
    """
    store = _open(folder)
    try:
        _settle(store, folder)
    except BaseException:
        store.close()
        raise
    return store


def open_for_planner(folder: Path) -> StateStore:
    """The state store of a pipeline while a Spark checkpoint is the authority.

    Raises:
        StateError: it cannot be opened, or another pipeline holds it.
    """
    return _open(folder)


def hand_to_spark(store: StateStore, folder: Path, *, anew: bool = False) -> Generation:
    """Makes a Spark checkpoint the authority: the last one where it ends at the store's offset, else a new one.

    Args:
        store: the pipeline's.
        folder: where checkpoints are.
        anew: whether it is to be a new one in any case: a batch that the last one has planned can no longer be read.
    """
    last = _note(store.get(NOTE))
    offset = store.load_offset()
    if last is None or anew or offset != _reached(last, folder):
        last = Generation(uuid.uuid4().hex, offset, authority=True)
    generation = Generation(last.id, last.start, authority=True)
    store.put(NOTE, asdict(generation))
    _remove_others(folder / "spark", generation.id)
    return generation


def current_offset(folder: Path) -> Offset | None:
    """How far a pipeline has come, also while it runs.

    Raises:
        StateError: the state cannot be read.
    """
    last = _note(read_kept(folder, NOTE))
    return _reached(last, folder) if last is not None and last.authority else read_state(folder)


def _open(folder: Path) -> StateStore:
    """Waits for the processes of a Spark run that was killed: they end by themselves within seconds."""
    deadline = time.monotonic() + HANDOVER_SECONDS
    while True:
        try:
            return SqliteStateStore(folder)
        except StateError:
            last = _note(read_kept(folder, NOTE))
            if last is None or not last.authority or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _settle(store: StateStore, folder: Path) -> None:
    last = _note(store.get(NOTE))
    if last is None or not last.authority:
        return
    store.save_offset(_reached(last, folder))
    store.put(NOTE, asdict(Generation(last.id, last.start, authority=False)))


def _reached(generation: Generation, folder: Path) -> Offset | None:
    committed = committed_batch(generation.checkpoint(folder))
    return generation.start if committed is None else committed.end


def _note(note: Json) -> Generation | None:
    return None if note is None else Generation(**note)


def _remove_others(folder: Path, keep: str) -> None:
    if folder.is_dir():
        for other in folder.iterdir():
            if other.name != keep:
                shutil.rmtree(other, ignore_errors=True)
