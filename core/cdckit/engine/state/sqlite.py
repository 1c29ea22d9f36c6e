"""What the state store `file` keeps: one SQLite file in the pipeline's state folder."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from cdckit.api.state_store import HistoryEntry, HistorySize, Json, StateStore, StateView
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.errors import StateError, StateHeldError

_FAULTS: tuple[type[Exception], ...] = (*DAMAGE, sqlite3.Error, OSError)
"""What reading a file that is damaged, or not there, may end in."""
FORMAT = 1
"""The version of the tables below, kept in SQLite's `user_version`."""

TABLES = f"""
begin immediate;
create table offset (one integer primary key check (one = 1), offset text not null) strict;
create table history (
    history text not null, position text not null, entry text not null, primary key (history, position)
) strict, without rowid;
create table keep (key text primary key, value text not null) strict, without rowid;
pragma user_version={FORMAT};
commit;
"""


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _with_state_errors(
    method: Callable[Concatenate[SqliteStateStore, _P], _T],
) -> Callable[Concatenate[SqliteStateStore, _P], _T]:
    """SQLite's errors as `StateError`, with the file's name."""

    @wraps(method)
    def with_state_errors(self: SqliteStateStore, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(self, *args, **kwargs)
        except _FAULTS as error:
            raise StateError(f"state file {self.path}: {error}; {_advice(error)}", number="CDC7101") from error

    return with_state_errors


class NewerFormatError(ValueError):
    """The file's tables are those of a newer version."""

    def __init__(self, found: int) -> None:
        super().__init__(f"it has format {found}, this version of cdckit reads format {FORMAT}")


def _advice(error: Exception) -> str:
    if isinstance(error, NewerFormatError):
        return "run the version that wrote it, or a newer one, or restore the copy from before the upgrade"
    if "malformed" in str(error) or "not a database" in str(error):
        return "restore it from a copy, or move the state folder away to start anew (with a new snapshot)"
    return "check that the folder can be written and the disk has room"


class SqliteStateStore(StateStore):
    """State in `FOLDER/state.db`, held by one process at a time through a lock on `FOLDER/lock`.

    Every save is one SQLite transaction with `synchronous=FULL`, so that it outlives a crash of process or machine.

    Args:
        folder: made when it is missing.

    Raises:
        StateHeldError: another process holds it.
        StateError: it cannot be opened, or is corrupted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "state.db"
        self._lock = _take_lock(folder)
        try:
            self._db = self._connect()
        except BaseException:
            os.close(self._lock)
            raise
        self._closed = False

    @_with_state_errors
    def _connect(self) -> sqlite3.Connection:
        self.path.touch(0o600)  # SQLite gives its log the mode of the file itself
        db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        try:
            found = db.execute("pragma user_version").fetchone()[0]
            if found not in (0, FORMAT):
                raise NewerFormatError(found)
            if db.execute("pragma quick_check").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("the file is malformed")
            # Readers (`cdc status`) see the last commit without waiting for the writer, nor it for them.
            db.execute("pragma journal_mode=wal")
            db.execute("pragma synchronous=full")
            if not found:
                db.executescript(TABLES)
        except BaseException:
            db.close()
            raise
        return db

    @_with_state_errors
    def load_offset(self) -> dict[str, Json] | None:
        """The last saved offset, or None."""
        row = self._db.execute("select offset from offset").fetchone()
        return None if row is None else _offset(row[0])

    @_with_state_errors
    def save_offset(self, offset: dict[str, Json] | None) -> None:
        """Makes `offset` the saved one, durably; None forgets it."""
        if offset is None:
            self._db.execute("delete from offset")
        else:
            self._db.execute("insert or replace into offset values (1, ?)", (json.dumps(offset),))

    @_with_state_errors
    def append_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Adds entries durably; an entry at a position that is already there replaces it."""
        self._in_transaction(lambda db: _insert(db, history, entries))

    @_with_state_errors
    def read_history(self, history: str, up_to: str | None = None) -> Iterator[HistoryEntry]:
        """The entries in order of position, those after `up_to` left out."""
        rows = self._db.execute(
            "select position, entry from history where history = ? and (? is null or position <= ?) order by position",
            (history, up_to, up_to),
        )
        return iter([HistoryEntry(position, json.loads(entry)) for position, entry in rows])

    @_with_state_errors
    def replace_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Puts `entries` in the place of the whole history at once."""

        def replace(db: sqlite3.Connection) -> None:
            db.execute("delete from history where history = ?", (history,))
            _insert(db, history, entries)

        self._in_transaction(replace)

    @_with_state_errors
    def get(self, key: str) -> Json:
        """A value kept under `key`, or None."""
        row = self._db.execute("select value from keep where key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    @_with_state_errors
    def put(self, key: str, value: Json) -> None:
        """Keeps a value under `key` durably; None removes it."""
        if value is None:
            self._db.execute("delete from keep where key = ?", (key,))
        else:
            self._db.execute("insert or replace into keep values (?, ?)", (key, json.dumps(value)))

    @property
    def changes(self) -> int:
        """How many rows this process has changed so far."""
        return self._db.total_changes

    def _in_transaction(self, change: Callable[[sqlite3.Connection], None]) -> None:
        self._db.execute("begin immediate")
        try:
            change(self._db)
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    def close(self) -> None:
        """Lets go of the file and the lock."""
        if self._closed:
            return
        self._closed = True
        self._db.close()
        os.close(self._lock)


class SqliteStateView(StateView):
    """`FOLDER/state.db` as it is, read without the lock; the file need not be there yet.

    Args:
        folder: the state's.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "state.db"

    def load_offset(self) -> dict[str, Json] | None:
        """The saved offset, or None."""
        offset: dict[str, Json] | None = self._value(_offset, "select offset from offset")
        return offset

    def get(self, key: str) -> Json:
        """A value kept under `key`, or None."""
        return self._value(json.loads, "select value from keep where key = ?", key)

    def history_sizes(self) -> list[HistorySize]:
        """The histories, by name."""
        query = "select history, count(*), sum(length(entry)) from history group by history"
        return [HistorySize(*row) for row in self._rows(query)]

    def close(self) -> None:
        """Nothing stays open between two looks."""

    def _value(self, read: Callable[[str], Json], query: str, *arguments: str) -> Json:
        """The one value that a query finds; None when there is none."""
        rows = self._rows(query, *arguments)
        try:
            return next((read(row[0]) for row in rows), None)
        except DAMAGE as error:
            raise StateError(
                f"state file {self._path}: {reason_of(error)}; {_advice(error)}", number="CDC7101"
            ) from error

    def _rows(self, query: str, *arguments: str) -> list[tuple[Any, ...]]:
        """What a query finds."""
        if not self._path.exists():
            return []
        try:
            with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as db:
                begun = db.execute("pragma user_version").fetchone()[0]
                if begun > FORMAT:
                    raise NewerFormatError(begun)
                return db.execute(query, arguments).fetchall() if begun else []
        except _FAULTS as error:
            raise StateError(f"state file {self._path}: {error}; {_advice(error)}", number="CDC7101") from error


def _offset(text: str) -> dict[str, Json]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError(f"the offset is {text[:80]}, no JSON object")
    return found


def _insert(db: sqlite3.Connection, history: str, entries: Iterable[HistoryEntry]) -> None:
    rows = ((history, position, json.dumps(entry)) for position, entry in entries)
    db.executemany("insert or replace into history values (?, ?, ?)", rows)


def _take_lock(folder: Path) -> int:
    """The file descriptor that holds the lock for as long as it is open, so also a killed process lets go of it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(
            f"state {folder}: {error.strerror}; name a folder that can be written", number="CDC7101"
        ) from error
    try:
        # The kernel lets go of it with the process, however that ends: no stale lock is left. SQLite's own locks would
        # keep readers out.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.read(descriptor, 20).decode(errors="replace").strip()
        os.close(descriptor)
        raise StateHeldError(
            f"state {folder} is held by another pipeline (process {holder or 'unknown'}): "
            "stop that one, or give this pipeline its own 'state' folder"
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor
