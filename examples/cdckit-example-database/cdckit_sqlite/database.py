"""The SQLite file: its tables, and the log that triggers write. One writer at a time makes log ids commit order."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from cdckit import BYTES, FLOAT64, INT64, STRING, DecodeError, RetriableSourceError, SourceError
from cdckit.connector.row_log import Change, Database, Table
from cdckit_sqlite.config import SqliteConfig

LOG = "cdckit_log"
_TYPES = {"INTEGER": INT64, "REAL": FLOAT64, "TEXT": STRING, "BLOB": BYTES}
_IMAGES = {"INSERT": ("c", "", "NEW"), "UPDATE": ("u", "OLD", "NEW"), "DELETE": ("d", "OLD", "")}
_MAKE_LOG = (
    f"CREATE TABLE IF NOT EXISTS {LOG} (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, op TEXT, old TEXT, new TEXT, "
    "ms INTEGER DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)))"
)


class SqliteFile(Database):
    """The file."""

    def __init__(self, config: SqliteConfig) -> None:
        super().__init__()
        self._config = config

    def connect(self) -> sqlite3.Connection:
        """Opens the file."""
        return sqlite3.connect(self._config.database_path, isolation_level=None, timeout=5)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """A file that another writer holds is tried again."""
        try:
            yield
        except sqlite3.OperationalError as error:
            kind = RetriableSourceError if "locked" in str(error) else SourceError
            raise kind(f"{self._config.database_path}: {error}") from error

    # -- tables

    def tables(self) -> Mapping[str, Table]:
        """The tables of the log; their triggers are seen to."""
        found = self.query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        names = sorted(name for (name,) in found if name != LOG and self._config.follows(f"main.{name}"))
        tables = {f"main.{name}": self._table(name) for name in names}
        self.write(_MAKE_LOG)
        for table in tables.values():
            self._see_to_triggers(table)
        return tables

    def _table(self, name: str) -> Table:
        info = self.query(f"PRAGMA table_info({self.quoted(name)})")
        columns = {
            column: _TYPES.get(kind.upper(), STRING).replace(optional=not (required or key))
            for _, column, kind, required, _, key in info
        }
        key = sorted((place, column) for _, column, _, _, _, place in info if place)
        return Table("main", name, columns, tuple(column for _, column in key))

    def _see_to_triggers(self, table: Table) -> None:
        for event, (op, old, new) in _IMAGES.items():
            name, on = self.quoted(f"cdckit_{op}_{table.name}"), self.quoted(table.name)
            literal = table.id.replace("'", "''")
            values = f"'{literal}', '{op}', {self._packed(table, old)}, {self._packed(table, new)}"
            self.write(
                f"CREATE TRIGGER IF NOT EXISTS {name} AFTER {event} ON {on} BEGIN "
                f"INSERT INTO {LOG} (name, op, old, new) VALUES ({values}); END"
            )

    def _packed(self, table: Table, image: str) -> str:
        """SQL that makes a JSON array of an image of a row; bytes are hexadecimal there."""
        cells = {f"{image}.{self.quoted(name)}": schema.type for name, schema in table.columns.items()}
        texts = [f"iif({cell} IS NULL, NULL, hex({cell}))" if of == "bytes" else cell for cell, of in cells.items()]
        return f"json_array({', '.join(texts)})" if image else "NULL"

    # -- the log

    def log_bounds(self) -> tuple[int, int]:
        """By the ids of the rows that are there, and of the newest one, which may have been deleted since."""
        [(first, last)] = self.query(
            f"SELECT (SELECT MIN(id) FROM {LOG}), (SELECT seq FROM sqlite_sequence WHERE name = '{LOG}')"
        )
        return (last or 0) if first is None else first - 1, last or 0

    def changes(self, after: int, last: int, tables: Mapping[str, Table], most: int) -> Sequence[Change]:
        """The next rows of the log."""
        where = f"id > ? AND id <= ? AND name IN ({', '.join('?' * len(tables))})"
        statement = f"SELECT id, name, op, old, new, ms FROM {LOG} WHERE {where} ORDER BY id LIMIT ?"
        rows = self.query(statement, after, last, *tables, most)
        return [
            Change(n, name, op, _row(n, tables[name], old), _row(n, tables[name], new), ms)
            for n, name, op, old, new, ms in rows
        ]


def _row(number: int, table: Table, image: str | None) -> tuple[Any, ...] | None:
    if image is None:
        return None
    cells, schemas = json.loads(image), table.columns.values()
    if len(cells) != len(schemas):
        raise DecodeError(f"row {number} of {LOG}: {table.id} had {len(cells)} columns then and has {len(schemas)} now")
    pairs = zip(cells, schemas, strict=True)
    return tuple(bytes.fromhex(cell) if schema.type == "bytes" and cell is not None else cell for cell, schema in pairs)
