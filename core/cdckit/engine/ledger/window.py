"""The rows of a snapshot by their keys, while the log tells again what the snapshot's rows may show already.

A snapshot whose rows are read behind the place that the log is followed from cannot be added to with differences: the
log's first changes may be in its rows. So rows are kept by their keys until the log has been read up to where it ended
when the last row was read; each change puts or removes a row, and may do so again. Then they are added up.

They lie in a file of SQLite in the pipeline's folder, 32 bytes a row besides the tree that they are in.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cdckit.engine.ledger.sums import Sums
from cdckit.errors import StateError

FILE = "ledger-rows.sqlite"
FORMAT = 1
"""That of the file; those of earlier versions tell none, and are the same."""
_MADE = (
    "CREATE TABLE IF NOT EXISTS told (token TEXT)",
    "CREATE TABLE IF NOT EXISTS rows (topic TEXT, key BLOB, row BLOB, PRIMARY KEY (topic, key)) WITHOUT ROWID",
)
_PUT = "INSERT OR REPLACE INTO rows VALUES (?, ?, ?)"
_REMOVE = "DELETE FROM rows WHERE topic = ? AND key = ?"
Changed = tuple[bytes, bytes | None]
"""The hash of a key, and that of its row; None: there is none any more."""


class KeyedRows:
    """The file.

    Args:
        folder: the pipeline's.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self._opened: sqlite3.Connection | None = None

    def begin(self) -> str:
        """Begins without rows, and gives the token that tells these from others."""
        self.remove()
        token = uuid.uuid4().hex
        self._run("INSERT INTO told VALUES (?)", [(token,)])
        self.commit()
        return token

    def has(self, token: str) -> bool:
        """Whether the rows that were begun with a token are there."""
        return self._file.exists() and (token,) in self._rows("SELECT token FROM told")

    def clear(self, topic: str) -> None:
        """Removes all rows of a topic."""
        self._run("DELETE FROM rows WHERE topic = ?", [(topic,)])

    def apply(self, topic: str, changes: Iterable[Changed]) -> None:
        """Puts and removes rows, the last change of each key counting."""
        newest = dict(changes)
        self._run(_PUT, [(topic, key, row) for key, row in newest.items() if row is not None])
        self._run(_REMOVE, [(topic, key) for key, row in newest.items() if row is None])

    def sums(self, topic: str) -> Sums:
        """The sums of a topic's rows."""
        sums = Sums()
        for (row,) in self._rows("SELECT row FROM rows WHERE topic = ?", topic):
            sums.add((row,))
        return sums

    def commit(self) -> None:
        """What was done is there whatever becomes of the process.

        Raises:
            StateError: the file cannot be written.
        """
        try:
            if self._opened is not None:
                self._opened.commit()
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def close(self) -> None:
        """Lets the file go."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def remove(self) -> None:
        """Removes the file."""
        self.close()
        if not self._file.exists():
            return
        for suffix in ("", "-journal", "-wal", "-shm"):
            self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)

    def _run(self, statement: str, values: list[tuple[object, ...]]) -> None:
        try:
            self._connection().executemany(statement, values)
        except (sqlite3.Error, OSError) as error:
            raise self._fault(error) from error

    def _rows(self, statement: str, *values: str) -> Iterable[tuple[Any]]:
        try:
            return self._connection().execute(statement, values)
        except (sqlite3.Error, OSError) as error:
            raise self._fault(error) from error

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            # Batches of Spark come in threads of their own, one after another.
            self._opened = self._checked(sqlite3.connect(self._file, check_same_thread=False))
        return self._opened

    def _checked(self, opened: sqlite3.Connection) -> sqlite3.Connection:
        """The file as it is now, which is of this format.

        Raises:
            StateError: it is of another one.
        """
        [(found,)] = opened.execute("PRAGMA user_version")
        if found not in (0, FORMAT):
            opened.close()
            raise StateError(
                f"{self._file}: the ledger's rows have format {found}, this version of cdckit reads format {FORMAT}: "
                "run the version that wrote them, or remove the file, and have the rows read again (cdc resnapshot)"
            )
        settings = ("journal_mode = WAL", "synchronous = NORMAL", f"user_version = {FORMAT}")
        for statement in (*(f"PRAGMA {setting}" for setting in settings), *_MADE):
            opened.execute(statement)
        return opened

    def _fault(self, error: Exception) -> StateError:
        return StateError(f"{self._file}: the ledger's rows cannot be kept there: {error}")
