"""The sink `sqlite`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from cdckit import Messages, Sink, SinkContext, SinkError
from cdckit_example.config import SqliteConfig

_CREATE = "CREATE TABLE IF NOT EXISTS {} (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
_UPSERT = "INSERT INTO {} VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_DELETE = "DELETE FROM {} WHERE key IS ?"


class SqliteSink(Sink):
    """Keeps a table for each topic: the newest value of each key. Writing the same messages again changes nothing.

    `write` stands in a transaction that `flush` commits.
    """

    def __init__(self, config: SqliteConfig) -> None:
        self.path = config.path
        self._database: sqlite3.Connection | None = None

    def open(self, context: SinkContext) -> None:
        """Opens the file, and takes it for writing alone."""
        with self._told():
            self._database = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute("BEGIN IMMEDIATE")

    def write(self, messages: Messages) -> None:
        """Applies the messages in their order."""
        with self._told() as database:
            for topic, key, value in zip(messages.topics, messages.keys, messages.values, strict=True):
                self._apply(database, topic, key, value)

    def flush(self) -> None:
        """Commits."""
        with self._told() as database:
            database.execute("COMMIT")
            database.execute("BEGIN IMMEDIATE")

    def close(self) -> None:
        """Forgets what was not flushed."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _apply(self, database: sqlite3.Connection, topic: str, key: bytes | None, value: bytes | None) -> None:
        table = '"' + topic.replace('"', '""') + '"'
        name = None if key is None else key.decode()
        database.execute(_CREATE.format(table))
        if value is None:
            database.execute(_DELETE.format(table), (name,))
        else:
            database.execute(_UPSERT.format(table), (name, value.decode()))

    @contextmanager
    def _told(self) -> Iterator[sqlite3.Connection]:
        """Turns SQLite's errors into the framework's, which end with the right exit code."""
        try:
            yield self._database  # type: ignore[misc]
        except sqlite3.Error as error:
            raise SinkError(f"sink.path: {self.path}: {error}") from error
