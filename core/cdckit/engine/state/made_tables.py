"""The tables that a pipeline has rows in, as its state remembers them (`cdckit.tables.made_tables`).

While Spark runs its planner holds the state: the driver, which writes tables, keeps what is new beside the checkpoint,
and whoever opens the state next takes that into it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cdckit.api.record import Offset
from cdckit.api.state_store import HistoryEntry, StateStore
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.engine.state.checkpoint_files import numbered_files, remove_file, write_file
from cdckit.engine.state.spark_checkpoint import Folder
from cdckit.errors import StateError
from cdckit.tables.made_tables import MadeTable, MadeTables

HISTORY = "tables"
"""The state's history of them, in which each has one entry; it has no positions of a log."""
FOLDER = "tables"
"""The folder in a checkpoint."""
_FAULTS: tuple[type[Exception], ...] = (*DAMAGE, OSError)


def remembered(store: StateStore, saved: Offset | None) -> list[MadeTable]:
    """What a state remembers; nothing where no offset is saved, behind which anything could be missing.

    Args:
        store: held.
        saved: its offset.

    Raises:
        StateError: it cannot be read.
    """
    if saved is None:
        forget(store)
        return []
    entries = list(store.read_history(HISTORY))
    try:
        found = [_made(json.loads(place), entry) for place, entry in entries]
    except DAMAGE as error:
        raise StateError(
            f"what the state keeps of the tables that were made is damaged ({reason_of(error)}): {str(entries)[:200]}; "
            "restore the state from a copy",
            number="CDC7106",
        ) from error
    made = [one for one in found if one.made]
    if len(made) < len(found):
        store.replace_history(HISTORY, map(_entry, made))
    return made


def tables_in(store: StateStore) -> MadeTables:
    """The tables that a state remembers, which remembers more of them as they are made.

    Raises:
        StateError: it cannot be read.
    """
    return MadeTables(remembered(store, store.load_offset()), partial(_remember, store))


def _remember(store: StateStore, tables: Iterable[MadeTable]) -> None:
    store.append_history(HISTORY, map(_entry, tables))


def forget(store: StateStore) -> None:
    """Forgets all tables: none of them is missed any more."""
    if next(iter(store.read_history(HISTORY)), None) is not None:
        store.replace_history(HISTORY, ())


def beside(checkpoint: Folder, shown: Path | None) -> Callable[[Sequence[MadeTable]], None]:
    """What keeps tables beside a checkpoint, a file for all that are told together.

    Args:
        checkpoint: of the query.
        shown: where it is shown to commands, if the checkpoint stands elsewhere.
    """
    folders: list[Folder] = [checkpoint / FOLDER]
    if shown is not None:
        folders.append(shown / FOLDER)

    def keep(tables: Sequence[MadeTable]) -> None:
        content = json.dumps([_entry(one) for one in tables]).encode()
        for folder in folders:
            try:
                write_file(folder, 1 + max((number for number, _ in numbered_files(folder)), default=0), content)
            except OSError as error:
                raise StateError(
                    f"which tables were made cannot be kept in {folder}: {error}; make room there, or give the right "
                    "to write",
                    number="CDC7105",
                ) from error

    return keep


def take_into(store: StateStore, checkpoint: Folder) -> None:
    """Takes the tables that are kept beside a checkpoint into the state.

    Raises:
        StateError: they cannot be read.
    """
    folder = checkpoint / FOLDER
    try:
        names = [name for _, name in numbered_files(folder)]
        for name in names:
            entries = [HistoryEntry(place, entry) for place, entry in json.loads((folder / name).read_text())]
            _remember(store, [_made(json.loads(place), entry) for place, entry in entries])
    except _FAULTS as error:
        raise StateError(
            f"the tables kept in {folder} are damaged ({reason_of(error)}): remove that folder; one of them that "
            "is removed later is then not missed",
            number="CDC7106",
        ) from error
    for name in names:
        remove_file(folder, name)


def _entry(one: MadeTable) -> HistoryEntry:
    told = {} if one.identity is None else {"id": one.identity}
    return HistoryEntry(json.dumps([one.topic, one.source]), {"table": one.table, "made": one.made, **told})


def _made(place: Any, entry: Any) -> MadeTable:
    topic, source = place
    table, made, identity = entry["table"], entry["made"], entry.get("id")  # older versions kept none
    if not (isinstance(topic, str) and isinstance(source, str)):
        raise TypeError("a name is no text")
    if not (isinstance(table, str | None) and isinstance(identity, str | None)):
        raise TypeError("what is kept of a table is no text")
    return MadeTable(topic, source, table, bool(made), identity)
