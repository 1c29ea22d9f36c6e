"""Chunks of tables in the order of their primary keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cdckit.connector.incremental import Chunk, Chunks, KeyOrder, UnreadableError, Wanted, for_placeholders
from cdckit.connector.row_log.database import Database, Table
from cdckit.connector.row_log.options import RowLogOptions
from cdckit.connector.row_log.parts import key_order
from cdckit.connector.table_events import Row


class TableChunks(Chunks[Row]):
    """Reads the captured tables.

    Args:
        config: the source's options.
        database: what is asked.
        tables: those of the log.
    """

    def __init__(self, config: RowLogOptions, database: Database, tables: Mapping[str, Table]) -> None:
        self._config = config
        self._database = database
        self._tables = tables

    def captured(self) -> Sequence[str]:
        """All but the table of signals."""
        return [name for name in self._tables if self._config.captures(name)]

    def wanted(self, name: str, condition: object, surrogate_key: str | None, *, blocking: bool) -> Wanted:
        """A whole table, in the order of its key."""
        if condition or surrogate_key:
            raise ValueError(f"{name}: this source reads whole tables, by their primary keys, in incremental snapshots")
        return Wanted(name)

    def key_columns(self, wanted: Wanted) -> Sequence[str]:
        """Those of the primary key."""
        return self._ordered(wanted)[0].key

    def last(self, wanted: Wanted) -> list[Any] | None:
        """The greatest key now."""
        table, order = self._ordered(wanted)
        keys = f"SELECT {order.columns} FROM {self._database.quoted(table.database, table.name)}"  # noqa: S608
        found = self._database.query(f"{keys} ORDER BY {order.descending} {self._database.limit(1)}")
        return list(found[0]) if found else None

    def read(self, wanted: Wanted, after: list[Any] | None, last: list[Any]) -> Chunk[Row] | None:
        """The rows behind a key, as many as a chunk has; the last one's key is where the chunk ends."""
        table, order = self._ordered(wanted)
        holes, most = [self._database.placeholder] * len(last), self._config.incremental_snapshot_chunk_size
        rest = f"WHERE {order.between(after and holes, holes)} ORDER BY {order.columns} {self._database.limit(most)}"
        rows = self._database.select(table, rest, *for_placeholders(after, last))
        bound = list(table.key_of(rows[-1])) if len(rows) == most else last
        return Chunk({table.key_of(row): row for row in rows}, bound)

    def text(self, key: list[Any]) -> str:
        """A key as a notification shows it."""
        return json.dumps(key)

    def _ordered(self, wanted: Wanted) -> tuple[Table, KeyOrder]:
        table = self._tables.get(wanted.name)
        if table is None:
            raise UnreadableError("it is no table of the log", "UNKNOWN_SCHEMA")
        if not table.key:
            raise UnreadableError("it has no primary key", "NO_PRIMARY_KEY")
        if any(table.columns[name].type == "bytes" for name in table.key):
            raise UnreadableError("its primary key has bytes, which offsets cannot hold", "NO_PRIMARY_KEY")
        return table, key_order(self._database, table)
