"""Copies of what the state store `file` keeps, beside the checkpoint: a state folder that was lost is made of them.

A copy is made before an offset is planned that needs what is new in the state, so that the newest one tells all that
goes on from Spark's checkpoint need. Each is a file of its own, `state-NUMBER`: the state's SQLite file, compressed.
"""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

from cdckit.api.state_store import StateStore
from cdckit.connector.damage import DAMAGE
from cdckit.engine.state.spark_checkpoint import Folder
from cdckit.engine.state.sqlite import SqliteStateView
from cdckit.errors import StateError

log = logging.getLogger("cdckit.runner")

_FAULTS: tuple[type[Exception], ...] = (*DAMAGE, sqlite3.Error, zlib.error)
"""What reading a damaged copy may end in."""
_NOT_COPIED: tuple[type[Exception], ...] = (*_FAULTS, OSError)
NUMBER = "copied"
"""The store's key of the number of the last copy that was made of it."""
_PREFIX = "state-"
_KEPT = 2


class CopyFolder(Folder, Protocol):
    """Where copies are kept."""

    def write_bytes(self, content: bytes) -> object:
        """Makes a new file."""

    def read_bytes(self) -> bytes:
        """What stands in a file."""

    def remove(self) -> None:
        """Takes a file away."""


def number_copy(store: StateStore) -> None:
    """Gives the copy that is to be made of a store its number."""
    store.put(NUMBER, (store.get(NUMBER) or 0) + 1)


def copy_state(state: Path, folder: CopyFolder) -> None:
    """Copies the state, which another process may hold, as it is now; older copies but one are taken away.

    Raises:
        StateError: it cannot be read, or the copy cannot be written.
    """
    number = SqliteStateView(state).get(NUMBER) or 0
    try:
        with closing(sqlite3.connect(f"file:{state / 'state.db'}?mode=ro", uri=True)) as db:
            # `serialize` is one read transaction: a copy is whole, whatever the planner writes meanwhile.
            content = zlib.compress(db.serialize(), 1)
        (folder / f"{_PREFIX}{number:012d}").write_bytes(content)
        for _, old in sorted(_copies(folder))[:-_KEPT]:
            (folder / old).remove()
    except _NOT_COPIED as error:
        raise StateError(
            f"the state cannot be copied: {error}; check the option 'checkpoint'", number="CDC7105"
        ) from error


def restore_state(state: Path, folder: CopyFolder) -> None:
    """Takes the newest copy for the state, where there is no state or one that is older than that.

    Raises:
        StateError: copies cannot be read.
    """
    try:
        copies = sorted(_copies(folder), reverse=True)
        mine = (SqliteStateView(state).get(NUMBER) or 0) if (state / "state.db").exists() else -1
        for number, name in copies:
            if number <= mine:
                return
            # A copy that was broken off in mid-write belongs to a batch that was never planned: the one before it will
            # do.
            with suppress(*_FAULTS):
                _put(zlib.decompress((folder / name).read_bytes()), state)
                log.warning("the state in %s was %s: it is restored from %s", state, _was(mine), folder / name)
                return
        if copies and mine < 0:
            raise StateError(
                f"no copy of the state in {folder} can be read; restore the state folder {state}", number="CDC7105"
            )
    except OSError as error:
        raise StateError(
            f"the copies of the state cannot be read: {error}; check the option 'checkpoint'", number="CDC7105"
        ) from error


def _was(mine: int) -> str:
    return "lost" if mine < 0 else "older than its copy"


def _put(content: bytes, state: Path) -> None:
    """Makes the state's file anew out of a copy."""
    state.mkdir(parents=True, exist_ok=True)
    new = state / "state.db.new"
    new.unlink(missing_ok=True)
    new.touch(0o600)
    new.write_bytes(content)
    with closing(sqlite3.connect(new)) as db:
        if db.execute("pragma quick_check").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("the copy is malformed")
    # A log that belongs to another file would be played into this one.
    for rest in ("state.db-wal", "state.db-shm"):
        (state / rest).unlink(missing_ok=True)
    new.replace(state / "state.db")


def _copies(folder: CopyFolder) -> Iterator[tuple[int, str]]:
    try:
        for path in folder.iterdir():
            number = path.name.removeprefix(_PREFIX)
            if path.name.startswith(_PREFIX) and number.isdecimal():
                yield int(number), path.name
    except FileNotFoundError:
        return
