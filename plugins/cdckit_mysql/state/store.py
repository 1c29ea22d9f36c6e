"""The state store `sql`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from pymysql.cursors import Cursor

from cdckit import Finding, HistoryEntry, HistorySize, StateBackend, StateError, StateStore, StateView
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.waiting import let_go
from cdckit_mysql.state.config import SqlStateConfig
from cdckit_mysql.state.hold import Hold
from cdckit_mysql.state.session import StateSession


class SqlBackend(StateBackend):
    """Keeps states in tables of a database."""

    def __init__(self, config: SqlStateConfig) -> None:
        self._config = config

    @classmethod
    def check(cls, config: SqlStateConfig) -> Sequence[Finding]:
        """Logs in, and looks whether the tables are there."""
        try:
            session = StateSession(config)
            try:
                made = session.has_tables()
            finally:
                session.close()
        except StateError as error:
            return [Finding.of("state store", error)]
        found = "its tables are there" if made else "its tables are made at first use"
        return [Finding("state store", "ok", f"{session.place}: {found}")]

    def open(self, pipeline: str) -> StateStore:
        """The state, held."""
        session = StateSession(self._config)
        try:
            session.make_tables()
            return SqlStateStore(session, pipeline, Hold(session, pipeline))
        except BaseException:
            session.close()
            raise

    def view(self, pipeline: str) -> StateView:
        """A look at it."""
        session = StateSession(self._config)
        try:
            return SqlStateView(session, pipeline)
        except BaseException:
            session.close()
            raise


class SavedState:
    """What the tables have of one pipeline.

    Args:
        session: where they are; the tables are there.
        pipeline: the pipeline's name.
    """

    def __init__(self, session: StateSession, pipeline: str) -> None:
        self._session = session
        self._pipeline = pipeline.encode()

    def offset(self) -> dict[str, Any] | None:
        """The saved offset, or None."""
        table = self._session.tables.pipelines
        found = self._one(table, "SELECT saved_offset FROM {pipelines} WHERE pipeline = %s")
        if not isinstance(found, dict | None):
            raise self._damaged(table, f"the offset is no JSON object: {str(found)[:80]}")
        return found

    def value(self, key: str) -> Any:
        """The value under a key, or None."""
        statement = "SELECT content FROM {kept} WHERE pipeline = %s AND name = %s"
        return self._one(self._session.tables.kept, statement, key.encode())

    def entries(self, history: str, up_to: str | None) -> Iterator[HistoryEntry]:
        """A history in order."""
        table, arguments = self._session.tables.history, [self._pipeline, history.encode()]
        if up_to is None:
            statement = "SELECT place, entry FROM {history} WHERE pipeline = %s AND history = %s ORDER BY place"
        else:
            statement = (
                "SELECT place, entry FROM {history} WHERE pipeline = %s AND history = %s AND place <= %s ORDER BY place"
            )
            arguments.append(up_to.encode())
        rows = self._session.rows(f"reading {table}", statement, arguments)
        return iter([HistoryEntry(place.decode(), self._read(table, entry)) for place, entry in rows])

    def sizes(self) -> list[HistorySize]:
        """The histories that have entries."""
        rows = self._session.rows(
            f"reading {self._session.tables.history}",
            "SELECT history, COUNT(*), SUM(LENGTH(entry)) FROM {history} WHERE pipeline = %s "
            "GROUP BY history ORDER BY history",
            [self._pipeline],
        )
        return [HistorySize(name.decode(), int(entries), int(size)) for name, entries, size in rows]

    def _one(self, table: str, statement: str, *arguments: bytes) -> Any:
        rows = self._session.rows(f"reading {table}", statement, (self._pipeline, *arguments))
        return self._read(table, rows[0][0]) if rows and rows[0][0] is not None else None

    def _read(self, table: str, text: str) -> Any:
        try:
            return json.loads(text)
        except DAMAGE as error:
            raise self._damaged(table, f"{reason_of(error)}: {text[:80]}") from error

    def _damaged(self, table: str, reason: str) -> StateError:
        return StateError(
            f"state store, {self._session.place}: what table {table} has of pipeline '{self._pipeline.decode()}' is "
            f"damaged ({reason}); restore it from a copy, or delete the pipeline's rows to start anew (with a new "
            "snapshot)"
        )


class SqlStateStore(StateStore):
    """A state that is held: each save is one transaction, which begins with a look whether it still is.

    Args:
        session: what it is read and written by; it is closed with the store.
        pipeline: the pipeline's name.
        hold: the hold on the state.
    """

    def __init__(self, session: StateSession, pipeline: str, hold: Hold) -> None:
        self._session = session
        self._tables = session.tables
        self._pipeline = pipeline.encode()
        self._hold = hold
        self._saved = SavedState(session, pipeline)
        self._changes = 0
        self._closed = False

    def load_offset(self) -> dict[str, Any] | None:
        """The last saved offset, or None."""
        return self._saved.offset()

    def save_offset(self, offset: dict[str, Any] | None) -> None:
        """Makes `offset` the saved one, durably; None forgets it."""
        text = None if offset is None else self._text(offset, self._tables.pipelines, "the offset")
        statement = "UPDATE {pipelines} SET saved_offset = %s WHERE pipeline = %s"
        self._save(self._tables.pipelines, statement, [text, self._pipeline])

    def append_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Adds entries durably; an entry at a position that is already there replaces it."""
        rows = self._rows_of(history, entries)
        self._change(self._tables.history, lambda cursor: self._insert(cursor, rows))

    def read_history(self, history: str, up_to: str | None = None) -> Iterator[HistoryEntry]:
        """The entries in order of position, those after `up_to` left out."""
        return self._saved.entries(history, up_to)

    def replace_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Puts `entries` in the place of the whole history at once."""
        rows = self._rows_of(history, entries)
        clear = self._tables.named("DELETE FROM {history} WHERE pipeline = %s AND history = %s")

        def replace(cursor: Cursor) -> None:
            cursor.execute(clear, [self._pipeline, history.encode()])
            self._insert(cursor, rows)

        self._change(self._tables.history, replace)

    def get(self, key: str) -> Any:
        """A value kept under `key`, or None."""
        return self._saved.value(key)

    def put(self, key: str, value: Any) -> None:
        """Keeps a value under `key` durably; None removes it."""
        table, row = self._tables.kept, [self._pipeline, key.encode()]
        if value is None:
            self._save(table, "DELETE FROM {kept} WHERE pipeline = %s AND name = %s", row)
        else:
            self._save(table, "REPLACE INTO {kept} VALUES (%s, %s, %s)", [*row, self._text(value, table, key)])

    @property
    def changes(self) -> int:
        """How often it was saved."""
        return self._changes

    def close(self) -> None:
        """Lets go of the state, and of the connection."""
        if not self._closed:
            self._closed = True
            let_go(self._let_go)

    def _let_go(self) -> None:
        with suppress(StateError):  # a session that has ended holds nothing
            self._hold.end()
        self._session.close()

    def _save(self, table: str, statement: str, row: Sequence[Any]) -> None:
        self._change(table, lambda cursor: cursor.execute(self._tables.named(statement), row))

    def _change(self, table: str, change: Callable[[Cursor], object]) -> None:
        def held(cursor: Cursor) -> None:
            self._hold.require(cursor)
            change(cursor)

        self._session.change(f"saving in {table}", held)
        self._changes += 1

    def _rows_of(self, history: str, entries: Iterable[HistoryEntry]) -> list[tuple[bytes, bytes, bytes, str]]:
        table = self._tables.history
        return [
            (self._pipeline, history.encode(), position.encode(), self._text(entry, table, f"{history} {position}"))
            for position, entry in entries
        ]

    def _insert(self, cursor: Cursor, rows: Sequence[Sequence[Any]]) -> None:
        cursor.executemany(self._tables.named("REPLACE INTO {history} VALUES (%s, %s, %s, %s)"), rows)

    def _text(self, value: Any, table: str, name: str) -> str:
        text = json.dumps(value)
        self._session.require_size(text, table, name)
        return text


class SqlStateView(StateView):
    """A look at a state, by a connection of its own.

    Args:
        session: what it is read by; it is closed with the view.
        pipeline: the pipeline's name.
    """

    def __init__(self, session: StateSession, pipeline: str) -> None:
        self._session = session
        self._made = session.has_tables()
        self._saved = SavedState(session, pipeline)

    def load_offset(self) -> dict[str, Any] | None:
        """The last saved offset, or None."""
        return self._saved.offset() if self._made else None

    def get(self, key: str) -> Any:
        """A value kept under `key`, or None."""
        return self._saved.value(key) if self._made else None

    def history_sizes(self) -> Sequence[HistorySize]:
        """The histories that have entries, by name."""
        return self._saved.sizes() if self._made else []

    def close(self) -> None:
        """Ends the connection."""
        self._session.close()
