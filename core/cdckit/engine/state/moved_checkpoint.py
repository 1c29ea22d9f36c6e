"""A checkpoint that moves: the option `checkpoint` names another place than at the last run on Spark.

Where that run was broken off in a batch, some tables may have it and others not. They know it again by its number, and
by that of the checkpoint, which tells where it ends. So the next run goes on with the same checkpoint, in its new
place. Where there is no such batch, a new checkpoint begins at the saved offset.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from cdckit.api.state_store import StateStore
from cdckit.engine.state.copies import CopyFolder
from cdckit.engine.state.generation import NOTE, Generation, keep, noted
from cdckit.engine.state.spark_checkpoint import Folder, batch_in_hand, committed_batch, location, planned_batch
from cdckit.errors import StateError

log = logging.getLogger("cdckit.runner")


def follow(store: StateStore, folder: Path, checkpoints: Folder | None, reach: Callable[[str], CopyFolder]) -> None:
    """Moves the last run's checkpoint to where checkpoints are now, where it has left a batch that is not finished.

    Args:
        store: the pipeline's, held.
        folder: the pipeline's, on this machine.
        checkpoints: where checkpoints are, if not there.
        reach: gives a folder by its address.

    Raises:
        StateError: there is such a batch, and the checkpoint is gone, or cannot be read, or written anew.
    """
    last, place = noted(store.get(NOTE)), "" if checkpoints is None else str(checkpoints)
    if last is None or last.place == place:
        return
    shown = last.checkpoint(folder)
    former, new = (reach(each) / last.id if each else reach(location(shown)) for each in (last.place, place))
    begun = batch_in_hand(shown)
    try:
        left = batch_in_hand(former)
    except StateError as error:
        if begun is None:
            return
        raise _refused(former, shown / "offsets" / str(begun), error) from error
    if (begun is None and left is None) or not _is_gone_on_with(last, store, shown, former):
        return
    try:
        _move(former, new, begun)
    except OSError as error:
        raise _refused(former, shown / "offsets" / str(left if begun is None else begun), error) from error
    # Behind the copy: where that is broken off, the next start makes it anew.
    keep(store, replace(last, place=place))


def _is_gone_on_with(last: Generation, store: StateStore, *checkpoints: Folder) -> bool:
    """Whether the next run begins where a checkpoint ends: nobody has gone further meanwhile, or set the offset."""
    if last.authority:
        return True
    batches = map(committed_batch, checkpoints)
    return store.load_offset() in [last.start if batch is None else batch.end for batch in batches]


def _move(former: CopyFolder, new: CopyFolder, begun: int | None) -> None:
    if not former.is_dir():
        planned = planned_batch(new)
        if begun is None or planned is None or planned < begun:  # else the user has moved it
            raise FileNotFoundError("it is gone")
        return
    log.info("a batch is not finished: Spark's checkpoint moves from %s to %s", former, new)
    files = dict(_files(former))
    if dict(_files(new)) != files:  # else it may be the same folder, by another address
        new.remove()
        for name, content in files.items():
            _below(new, name).write_bytes(content)


def _files(folder: CopyFolder, above: str = "") -> Iterator[tuple[str, bytes]]:
    """The files below a folder, by their paths in it, but for those that were being written."""
    if not folder.is_dir():
        return
    for each in folder.iterdir():
        if each.is_dir():
            yield from _files(each, f"{above}{each.name}/")
        elif not each.name.startswith("."):
            yield f"{above}{each.name}", each.read_bytes()


def _below(folder: CopyFolder, name: str) -> CopyFolder:
    for part in name.split("/"):
        folder = folder / part
    return folder


def _refused(former: Folder, mark: Path, reason: Exception) -> StateError:
    return StateError(
        "the last run on Spark was broken off in the middle of a batch that some tables may have and others not, and "
        f"its checkpoint cannot be moved from {former} to where 'checkpoint' is now ({reason}): let both be reached, "
        f"or set 'checkpoint' back. Where it is gone for good, remove {mark}: a changelog may have that batch twice "
        "then",
        number="CDC7111",
    )
