"""What signals ask for while the log is followed: the kit's incremental snapshot, with SQLite's chunks and marks."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from cdckit import Record
from cdckit.connector.incremental import (
    Chunk,
    Chunks,
    IncrementalSnapshot,
    IncrementalState,
    SignalListener,
    UnreadableError,
    Wanted,
    Watermarks,
)
from cdckit.connector.incremental.watermarks import CLOSE, OPEN
from cdckit.connector.notifications import Notifications
from cdckit.connector.signals import Mailbox
from cdckit.connector.signals.signal import WINDOW_CLOSE, WINDOW_OPEN
from cdckit_sqlite.config import SqliteConfig
from cdckit_sqlite.events import Events
from cdckit_sqlite.log import Change, Log, Table

Row = tuple[Any, ...]


class TableChunks(Chunks[Row]):
    """Chunks in the order of a table's key."""

    def __init__(self, log: Log, tables: Callable[[], dict[str, Table]], size: int) -> None:
        self._log, self._tables, self._size = log, tables, size

    def captured(self) -> Sequence[str]:
        """All but the table of signals."""
        return [name for name in self._tables() if self._log.captures(name)]

    def wanted(self, name: str, condition: object, surrogate_key: str | None, *, blocking: bool) -> Wanted:
        """Whole tables, by their keys."""
        if condition or surrogate_key:
            raise ValueError("conditions and surrogate keys are not for this source")
        return Wanted(name)

    def last(self, wanted: Wanted) -> list[Any] | None:
        """The last key."""
        table = self._tables()[wanted.name]
        if not table.key:
            raise UnreadableError("it has no primary key", "NO_PRIMARY_KEY")
        order = ", ".join(f'"{name}" DESC' for name in table.key)
        names = ", ".join(f'"{name}"' for name in table.key)
        found = self._log.query(f'SELECT {names} FROM "{table.name}" ORDER BY {order} LIMIT 1')
        return list(found[0]) if found else None

    def read(self, wanted: Wanted, after: list[Any] | None, last: list[Any]) -> Chunk[Row] | None:
        """The rows behind `after`, compared as a whole key."""
        table = self._tables()[wanted.name]
        names, holes = ", ".join(f'"{name}"' for name in table.key), ", ".join("?" * len(table.key))
        where, values = f"({names}) <= ({holes})", [*last]
        if after is not None:
            where, values = f"{where} AND ({names}) > ({holes})", [*last, *after]
        rows: dict[Hashable, Row] = {
            table.key_of(row): row for row in self._log.rows(table, where, *values, most=self._size)
        }
        return Chunk(rows, list(table.key_of(rows[next(reversed(rows))])) if len(rows) == self._size else last)

    def text(self, key: list[Any]) -> str:
        """As JSON."""
        return json.dumps(key)


class TableMarks(Watermarks):
    """Marks as rows of the table of signals."""

    def __init__(self, log: Log, table: str) -> None:
        self._log, self._table = log, table.partition(".")[2]

    def low(self, window: str) -> None:
        """The first mark."""
        self._write(window + OPEN, WINDOW_OPEN)

    def high(self, window: str) -> None:
        """The second one."""
        self._write(window + CLOSE, WINDOW_CLOSE)

    def _write(self, identifier: str, kind: str) -> None:
        self._log.query(f'INSERT INTO "{self._table}" VALUES (?, ?, NULL)', identifier, kind)


class Signalling:
    """Stands beside whoever reads the log."""

    def __init__(
        self, config: SqliteConfig, log: Log, tables: Callable[[], dict[str, Table]], events: Events, mailbox: Mailbox,
        notifications: Notifications, state: IncrementalState,
    ) -> None:  # fmt: skip
        self._place, self._log, self._tables, self._events = config.signal_data_collection, log, tables, events
        self._mailbox = mailbox
        chunks = TableChunks(log, tables, config.incremental_snapshot_chunk_size)
        marks = TableMarks(log, self._place) if self._place else None
        self.snapshot: IncrementalSnapshot[Row] = IncrementalSnapshot(chunks, marks, notifications, state)
        takes = "source" in config.channels
        self._listener = SignalListener(self.snapshot, self._place, deletes_marks=False, takes=takes)

    def changed(self, change: Change) -> list[Record]:
        """Takes a row of the log; the records of the chunk that it ends."""
        if change.name != self._place:
            table = self._tables()[change.name]
            if self.snapshot.reading == change.name:
                self.snapshot.changed(table.key_of(image) for image in (change.old, change.new) if image is not None)
            return []
        finished = self._listener.inserted(*change.new) if change.op == "c" and change.new is not None else None
        if finished is None or not finished.rows:
            return []
        table = self._tables()[finished.name]
        return self._events.reads(table, finished.rows, change.number, 0, mark="incremental")

    def between_batches(self, number: int) -> Iterator[list[Record]]:
        """What other channels ask for, the next chunk, and tables that the log waits for."""
        self._mailbox.covered()
        self._mailbox.hand_out(self.snapshot.take)
        for part, wanted in enumerate(self.snapshot.state.blocking):
            table = self._tables()[wanted.name]
            for count, row in enumerate(self._log.rows(table)):
                yield self._events.reads(table, [row], number, count, part)
        self.snapshot.unblocked()
        self.snapshot.advance()
