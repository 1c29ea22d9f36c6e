"""The ledger beside a Spark checkpoint: a file for each batch, written before Spark notes that the batch is done.

While Spark runs its planner holds the state, and the driver, which adds up what tasks tell, has this. Each file is the
whole ledger, which tells of the offset behind its batch and of the one before: whichever of the two Spark goes on from,
its sums are there. Whoever opens the state next takes the newest file into the store.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from cdckit.api.state_store import Json, StateStore, StateView
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.engine.state.checkpoint_files import numbered_files, remove_file, write_file
from cdckit.engine.state.spark_checkpoint import Folder
from cdckit.errors import StateError

HEAD = "ledger"
"""The key of the ledger's head in the state store; a table's is this, a slash, and the topic."""
FOLDER = "ledger"
"""The folder in a checkpoint."""
_KEPT = 2
_FAULTS: tuple[type[Exception], ...] = (*DAMAGE, OSError)


class LedgerFiles:
    """The ledger as a state store has it, kept in files.

    Args:
        checkpoint: of the query.
        shown: where it is shown to commands, if the checkpoint stands elsewhere.
        values: what it has at first.
    """

    def __init__(self, checkpoint: Folder, shown: Path | None, values: Mapping[str, Json]) -> None:
        self._folders: list[Folder] = [checkpoint / FOLDER]
        if shown is not None:
            self._folders.append(shown / FOLDER)
        self._values = dict(values)

    def get(self, key: str) -> Json:
        """A value kept under `key`, or None."""
        return self._values.get(key)

    def put(self, key: str, value: Json) -> None:
        """Has a value in the next file."""
        self._values[key] = value

    def write(self, number: int) -> None:
        """Writes the next file; older ones but one go.

        Args:
            number: its number, which is higher than that of those before.

        Raises:
            StateError: it cannot be written.
        """
        content = json.dumps(self._values).encode()
        for folder in self._folders:
            try:
                write_file(folder, number, content)
                for _, name in numbered_files(folder)[:-_KEPT]:
                    remove_file(folder, name)
            except OSError as error:
                raise StateError(
                    f"the ledger cannot be kept in {folder}: {error}; make room there, or give the right to write",
                    number="CDC7109",
                ) from error


def newest(checkpoint: Folder) -> dict[str, Json] | None:
    """The newest ledger beside a checkpoint; None where there is none.

    Raises:
        StateError: it cannot be read.
    """
    folder = checkpoint / FOLDER
    try:
        found = numbered_files(folder)
        if not found:
            return None
        text = (folder / found[-1][1]).read_text()
        kept = json.loads(text)
        return {str(key): value for key, value in kept.items()}
    except _FAULTS as error:
        raise StateError(
            f"the ledger in {folder} is damaged ({reason_of(error)}): remove that folder, and have the rows read again "
            "(cdc resnapshot)",
            number="CDC7109",
        ) from error


def kept_in(store: StateStore | StateView) -> dict[str, Json]:
    """The ledger that a state store has."""
    head = store.get(HEAD)
    topics = head["topics"] if isinstance(head, dict) and isinstance(head.get("topics"), list) else []
    return {key: store.get(key) for key in (HEAD, *(f"{HEAD}/{topic}" for topic in topics))}


def take_into(store: StateStore, checkpoint: Folder) -> bool:
    """Takes the newest ledger beside a checkpoint into the store, where there is one; says whether there is.

    Raises:
        StateError: it cannot be read.
    """
    values = newest(checkpoint)
    if values is None:
        return False
    # The head last: it names what must be there by then.
    for key in sorted(values, key=lambda key: key == HEAD):
        store.put(key, values[key])
    return True


def forget(store: StateStore, *checkpoints: Folder) -> None:
    """Removes a ledger that is kept no more, whatever format it has, and its files beside checkpoints."""
    if store.get(HEAD) is not None:
        for key in sorted(kept_in(store), key=lambda key: key == HEAD):
            store.put(key, None)
    for folder in (checkpoint / FOLDER for checkpoint in checkpoints):
        for _, name in numbered_files(folder):
            remove_file(folder, name)
