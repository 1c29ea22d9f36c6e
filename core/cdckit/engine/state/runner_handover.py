"""One state for both runners: who knows how far the pipeline has come, and how that is handed over.

The direct runner saves offsets in the state store. While Spark runs, its checkpoint is the authority, which the store
notes under `spark`. Whoever opens the state next takes the checkpoint's last committed offset into the store. A Spark
run goes on with the checkpoint that it finds only if that ends at the store's offset; otherwise it starts a new
generation: a fresh checkpoint whose query begins at the store's offset.

Checkpoints stand in the pipeline's folder, or elsewhere (`checkpoints`); then that folder has notes of how far they
have come. Where the state is lost, and a checkpoint is not, that tells the offset. Where a checkpoint is lost, and the
state is not, the store's offset counts.
"""

from __future__ import annotations

import logging
import shutil
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from cdckit.api.record import Offset
from cdckit.api.state_store import Json, StateStore, StateView
from cdckit.engine.state import made_tables
from cdckit.engine.state.copies import CopyFolder
from cdckit.engine.state.generation import NOTE, Generation, keep, noted
from cdckit.engine.state.ledger_file import kept_in, newest, take_into
from cdckit.engine.state.moved_checkpoint import follow
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.spark_checkpoint import (
    CommittedBatch,
    Folder,
    batch_in_hand,
    begun_in_vain,
    committed_batch,
    show_batch,
)
from cdckit.errors import StateError, StateHeldError
from cdckit.waiting import ended_by_stop

log = logging.getLogger("cdckit.runner")

UNBEGUN = "spark_unbegun"
"""The store's key of the batch that this run has planned and, as it was asked to stop, has not begun."""

UNASKED = "spark_unasked"
"""The store's key of the last run and the offset taken of it, where commands did not reach its checkpoint elsewhere.

That may be a batch ahead of what is shown to them: a driver may be killed between Spark's note and its own.
"""

HANDOVER_SECONDS = 15.0
"""How long the processes of a killed Spark run may take to let go of the state."""


def open_state(
    place: StatePlace, checkpoints: Folder | None = None, reach: Callable[[str], CopyFolder] | None = None
) -> StateStore:
    """The state store of a pipeline, held until it is closed, with the offset of whichever runner ran last.

    Args:
        place: where the state is.
        checkpoints: where checkpoints are, if not there.
        reach: gives a folder by its address; the last run's checkpoint is moved to where checkpoints are now, where it
            has left a batch there that is not finished. None: it stays.

    Raises:
        StateHeldError: another process holds it.
        StateError: it cannot be opened, or there is such a batch, and the checkpoint cannot be moved.
    """
    store = _awaited(place)
    try:
        if reach is not None:
            follow(store, place.folder, checkpoints, reach)
        _settle(store, place.folder, checkpoints)
    except BaseException:
        store.close()
        raise
    return store


def open_for_planner(place: StatePlace, generation: str | None = None) -> StateStore:
    """The state store of a pipeline for the planner of a query, held until it is closed.

    Args:
        place: where the state is.
        generation: whose checkpoint is the authority; None: none is.

    Raises:
        StateHeldError: another process holds it.
        StateError: it cannot be opened, or its offset is another one than when the run began.
    """
    store = _awaited(place, generation)
    try:
        if generation is not None:
            _go_on(store, place.folder, generation)
    except BaseException:
        store.close()
        raise
    return store


def _awaited(place: StatePlace, generation: str | None = None) -> StateStore:
    """The state store. The processes of a Spark run that was killed are waited for: they end within seconds.

    For a run that goes on, so is a command that has begun while nobody held the state.
    """
    deadline, said = time.monotonic() + HANDOVER_SECONDS, False
    while True:
        try:
            return place.open()
        except StateHeldError:
            last = noted(place.kept(NOTE))
            if last is None or not (last.authority or last.id == generation) or time.monotonic() > deadline:
                raise
            if not said:
                log.info("waiting for another process to let go of the state")
            said = True
            with ended_by_stop():
                time.sleep(0.2)


def _go_on(store: StateStore, folder: Path, generation: str) -> None:
    """Makes a run's checkpoint the authority again.

    Before the first query and between two of them, as while the source is away, nobody holds the state. A command that
    opens it then, such as `cdc resnapshot`, finds the offset in the store, and may change it.
    """
    last = noted(store.get(NOTE))
    if last is not None and last.id == generation and last.authority:
        return
    if last is None or last.id != generation or store.load_offset() != _reached(last, folder):
        raise StateError(
            "the offset was changed while the pipeline ran (`cdc offsets`, or another run of it): start it again, and "
            "it goes on from the one that is saved"
        )
    _keep(store, replace(last, authority=True))


def hand_to_spark(
    store: StateStore, folder: Path, checkpoints: Folder | None = None, *, anew: bool = False
) -> Generation:
    """Makes a Spark checkpoint the authority: the last one where it ends at the store's offset, else a new one.

    Args:
        store: the pipeline's.
        folder: the pipeline's, on this machine.
        checkpoints: where checkpoints are, if not there.
        anew: whether it is to be a new one in any case: a batch that the last one has planned can no longer be read.
    """
    last = noted(store.get(NOTE)) or _found(store, folder, checkpoints)
    offset, place = store.load_offset(), "" if checkpoints is None else str(checkpoints)
    # A checkpoint whose `commits` are lost would begin at batch 0 again, and Delta would take the batches for those
    # that it has: it may not be gone on with under its old name.
    if last is not None and (last.place != place or not _can_go_on(_checkpoint(last, folder, checkpoints))):
        last = None
    if last is None or anew or offset != _reached(last, folder, checkpoints):
        last = Generation(uuid.uuid4().hex, offset, authority=True, place=place)
    generation = replace(last, authority=True)
    # Noted before Spark starts: whoever opens the state from now on looks into the checkpoint.
    _keep(store, generation)
    _remove_others(folder / "spark", generation.id)
    return generation


def _keep(store: StateStore, generation: Generation) -> None:
    for noted_before in (UNBEGUN, UNASKED):
        if store.get(noted_before) is not None:
            store.put(noted_before, None)  # from now on a batch may be begun, and the checkpoint counts
    keep(store, generation)


def broken_off(store: StateStore, folder: Path, checkpoints: Folder | None = None) -> bool:
    """Whether the last run on Spark has begun a batch that it did not commit: the next one repeats it.

    Args:
        store: the pipeline's, as `open_state` gives it.
        folder: the pipeline's, on this machine.
        checkpoints: where checkpoints are, if not there.
    """
    last = noted(store.get(NOTE))
    if last is None or store.load_offset() != _reached(last, folder, checkpoints):
        return False  # no run goes on from there
    batch = batch_in_hand(_checkpoint(last, folder, checkpoints))
    return batch is not None and store.get(UNBEGUN) != [last.id, batch]


def note_unbegun(store: StateStore, folder: Path, checkpoints: Folder | None = None) -> None:
    """Notes that nothing has come of a batch which the last run on Spark has planned and not committed.

    Args: as `broken_off`.
    """
    last = noted(store.get(NOTE))
    batch = None if last is None else batch_in_hand(_checkpoint(last, folder, checkpoints))
    if last is not None and batch is not None:
        store.put(UNBEGUN, [last.id, batch])


def current_offset(place: StatePlace) -> Offset | None:
    """How far a pipeline has come, also while it runs.

    Raises:
        StateError: the state cannot be read.
    """
    with place.view() as view:
        committed = _last_batch(view, place.folder)
        return view.load_offset() if committed is None else committed[1].end


def current_batch(place: StatePlace) -> tuple[str, CommittedBatch] | None:
    """The last batch that Spark has committed, with the name of its generation; None where Spark did not run last.

    Raises:
        StateError: the state cannot be read.
    """
    with place.view() as view:
        return _last_batch(view, place.folder)


def current_ledger(view: StateView, folder: Path) -> tuple[Mapping[str, Json], Offset | None]:
    """The ledger, also while the pipeline runs, and how far the pipeline has come by then.

    Args:
        view: the state.
        folder: the pipeline's, on this machine.

    Raises:
        StateError: it cannot be read.
    """
    last = noted(view.get(NOTE))
    if last is not None and last.authority:
        # The batch first: the ledger is kept before that is noted, and tells of the one before, too.
        reached = _reached(last, folder)
        values = newest(last.checkpoint(folder))
        if values is not None:
            return values, reached
    return kept_in(view), view.load_offset()


def _last_batch(view: StateView, folder: Path) -> tuple[str, CommittedBatch] | None:
    last = noted(view.get(NOTE))
    committed = _committed(last, folder) if last is not None and last.authority else None
    return None if last is None or committed is None else (last.id, committed)


def _settle(store: StateStore, folder: Path, checkpoints: Folder | None) -> None:
    last = noted(store.get(NOTE))
    if last is None or not (last.authority or _is_unasked(store, last, checkpoints)):
        return
    committed = _committed(last, folder, checkpoints)
    _take_ledger(store, last, folder, checkpoints)
    _take_tables(store, last, folder, checkpoints)
    if committed is not None:
        if _is_there(last, checkpoints):
            show_batch(last.checkpoint(folder), committed)
        # Two steps, in this order: killed in between, the next start takes the same offset once more.
        store.save_offset(committed.end)
    store.put(UNASKED, None if _is_reached(last, checkpoints) else [last.id, store.load_offset()])
    keep(store, replace(last, authority=False))


def _is_unasked(store: StateStore, last: Generation, checkpoints: Folder | None) -> bool:
    """Whether a run's checkpoint, which can be reached now, may be ahead of the offset, which nobody has changed."""
    return _is_reached(last, checkpoints) and store.get(UNASKED) == [last.id, store.load_offset()]


def choose_offset(store: StateStore, offset: Offset | None) -> None:
    """Saves an offset that the user has chosen, whatever a checkpoint may know.

    Args:
        store: the pipeline's, held.
        offset: the offset; None: the pipeline begins anew.
    """
    store.put(UNASKED, None)
    store.save_offset(offset)


def _is_reached(last: Generation, checkpoints: Folder | None) -> bool:
    """Whether a checkpoint is where checkpoints are now."""
    return last.place == ("" if checkpoints is None else str(checkpoints))


def _is_there(last: Generation, checkpoints: Folder | None) -> bool:
    """Whether a checkpoint is where checkpoints are now, which is not in the pipeline's folder."""
    return checkpoints is not None and _is_reached(last, checkpoints)


def _take_ledger(store: StateStore, last: Generation, folder: Path, checkpoints: Folder | None) -> None:
    """Takes the ledger beside a checkpoint: also of a batch that Spark has not committed, but perhaps the sink has."""
    there = _is_there(last, checkpoints)
    if not (there and take_into(store, _checkpoint(last, folder, checkpoints))):
        take_into(store, last.checkpoint(folder))


def _take_tables(store: StateStore, last: Generation, folder: Path, checkpoints: Folder | None) -> None:
    """Takes the tables beside a checkpoint, and where it is shown to commands."""
    if _is_there(last, checkpoints):
        made_tables.take_into(store, _checkpoint(last, folder, checkpoints))
    made_tables.take_into(store, last.checkpoint(folder))


def _reached(generation: Generation, folder: Path, checkpoints: Folder | None = None) -> Offset | None:
    committed = _committed(generation, folder, checkpoints)
    return generation.start if committed is None else committed.end


def _committed(generation: Generation, folder: Path, checkpoints: Folder | None = None) -> CommittedBatch | None:
    there = _is_there(generation, checkpoints)
    committed = committed_batch(_checkpoint(generation, folder, checkpoints)) if there else None
    return committed or committed_batch(generation.checkpoint(folder))


def _can_go_on(checkpoint: Folder) -> bool:
    """Whether a query can go on from there; of one that is lost, a target may know batches of these numbers."""
    return checkpoint.is_dir() and not begun_in_vain(checkpoint)


def _checkpoint(generation: Generation, folder: Path, checkpoints: Folder | None) -> Folder:
    return generation.checkpoint(folder) if checkpoints is None else checkpoints / generation.id


def _found(store: StateStore, folder: Path, elsewhere: Folder | None) -> Generation | None:
    """The generation of a checkpoint that the state has lost; the store then has its offset.

    Raises:
        StateError: there are several.
    """
    checkpoints: Folder = folder / "spark" if elsewhere is None else elsewhere
    if store.load_offset() is not None or not checkpoints.is_dir():
        return None
    ends = {path.name: batch.end for path in checkpoints.iterdir() if (batch := committed_batch(path)) is not None}
    if not ends:
        return None
    if len(ends) > 1:
        raise StateError(
            f"the state is lost, and {checkpoints} has {len(ends)} checkpoints: move those away that are older, or all "
            "for a new snapshot",
            number="CDC7105",
        )
    [(name, end)] = ends.items()
    log.warning("the state is lost: the checkpoint %s tells that the pipeline had come to %s", checkpoints / name, end)
    take_into(store, checkpoints / name)
    made_tables.take_into(store, checkpoints / name)
    store.save_offset(end)
    return Generation(name, end, authority=True, place="" if elsewhere is None else str(elsewhere))


def _remove_others(folder: Path, keep: str) -> None:
    if folder.is_dir():
        for other in folder.iterdir():
            if other.name != keep:
                shutil.rmtree(other, ignore_errors=True)
