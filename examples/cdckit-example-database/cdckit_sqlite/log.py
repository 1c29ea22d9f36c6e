"""The SQLite file: its tables, and the log that triggers write. One writer at a time makes log ids commit order."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cdckit import BYTES, FLOAT64, INT64, STRING, DecodeError, RetriableSourceError, Schema, SourceError
from cdckit.connector.include_lists import Choice
from cdckit_sqlite.config import SqliteConfig

LOG = "cdckit_log"
_TYPES = {"INTEGER": INT64, "REAL": FLOAT64, "TEXT": STRING, "BLOB": BYTES}
_IMAGES = {"INSERT": ("c", "", "NEW"), "UPDATE": ("u", "OLD", "NEW"), "DELETE": ("d", "OLD", "")}
_MAKE_LOG = (
    f"CREATE TABLE IF NOT EXISTS {LOG} (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, op TEXT, old TEXT, new TEXT, "
    "ms INTEGER DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)))"
)


@dataclass(frozen=True, slots=True)
class Table:
    """A captured table: its columns, and those of its key with their places."""

    name: str
    columns: dict[str, Schema]
    key: tuple[str, ...]

    def key_of(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """The key's values."""
        places = list(self.columns)
        return tuple(row[places.index(name)] for name in self.key)


class Change(NamedTuple):
    """A row of the log."""

    number: int
    name: str
    op: str
    old: tuple[Any, ...] | None
    new: tuple[Any, ...] | None
    ms: int


class Log:
    """A connection to the file, opened at its first use."""

    def __init__(self, config: SqliteConfig) -> None:
        self._config = config
        self._choice = Choice(config.table_include_list, config.table_exclude_list, "table")
        self._open: sqlite3.Connection | None = None

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a statement; raises as `asked`."""
        return self.asked(sql, *values).fetchall()

    def asked(self, sql: str, *values: object) -> sqlite3.Cursor:
        """A statement's rows, one by one.

        Raises:
            RetriableSourceError: another writer holds the file.
            SourceError: SQLite refuses.
        """
        try:
            if self._open is None:
                self._open = sqlite3.connect(self._config.database_path, isolation_level=None, timeout=5)
            return self._open.execute(sql, values)
        except sqlite3.OperationalError as error:
            kind = RetriableSourceError if "locked" in str(error) else SourceError
            raise kind(f"{self._config.database_path}: {error}") from error

    def tables(self) -> dict[str, Table]:
        """The captured tables, and that of signals, by name (`main.t`); their triggers are seen to."""
        found = self.query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        names = [name for (name,) in found if name != LOG and self.captures(f"main.{name}", signals=True)]
        tables = {f"main.{name}": self._table(name) for name in sorted(names)}
        self.query(_MAKE_LOG)
        for table in tables.values():
            self._see_to_triggers(table)
        return tables

    def captures(self, name: str, *, signals: bool = False) -> bool:
        """Whether events tell of a table; with `signals`, whether the log does."""
        return self._choice(name) if name != self._config.signal_data_collection else signals

    def _table(self, name: str) -> Table:
        info = self.query(f'PRAGMA table_info("{name}")')
        columns = {
            column: _TYPES.get(kind.upper(), STRING).replace(optional=not (required or key))
            for _, column, kind, required, _, key in info
        }
        key = sorted((place, column) for _, column, _, _, _, place in info if place)
        return Table(name, columns, tuple(column for _, column in key))

    def _see_to_triggers(self, table: Table) -> None:
        for event, (op, old, new) in _IMAGES.items():
            values = f"'main.{table.name}', '{op}', {_packed(table, old)}, {_packed(table, new)}"
            self.query(
                f'CREATE TRIGGER IF NOT EXISTS "cdckit_{op}_{table.name}" AFTER {event} ON "{table.name}" BEGIN '
                f"INSERT INTO {LOG} (name, op, old, new) VALUES ({values}); END"
            )

    def end(self) -> int:
        """The id of the newest row, which may have been deleted since."""
        found = self.query("SELECT seq FROM sqlite_sequence WHERE name = ?", LOG)
        return int(found[0][0]) if found else 0

    def begin(self) -> int:
        """The id of the oldest row that is there, or of the next one to come."""
        return int(self.query(f"SELECT MIN(id) FROM {LOG}")[0][0] or self.end() + 1)

    def changes(self, after: int, end: int | None, tables: dict[str, Table], most: int) -> list[Change]:
        """The next rows of the log; those of other tables are left out.

        Raises:
            DecodeError: a table has other columns than when its row was written.
        """
        last = 2**63 - 1 if end is None else end
        names = ", ".join("?" * len(tables))
        where = f"id > ? AND id <= ? AND name IN ({names})"
        sql = f"SELECT id, name, op, old, new, ms FROM {LOG} WHERE {where} ORDER BY id LIMIT ?"
        rows = self.query(sql, after, last, *tables, most)
        return [
            Change(n, t, op, _row(n, tables[t], old), _row(n, tables[t], new), ms) for n, t, op, old, new, ms in rows
        ]

    def rows(self, table: Table, where: str = "1", *values: object, most: int = -1) -> sqlite3.Cursor:
        """The rows of a table as they are now, in the order of its key."""
        order = ", ".join(f'"{name}"' for name in table.key) or "rowid"
        names = ", ".join(f'"{name}"' for name in table.columns)
        return self.asked(f'SELECT {names} FROM "{table.name}" WHERE {where} ORDER BY {order} LIMIT {most}', *values)

    def close(self) -> None:
        """Lets go of the file."""
        if self._open is not None:
            self._open.close()
            self._open = None


def _packed(table: Table, image: str) -> str:
    """SQL that makes a JSON array of an image of a row; bytes are hexadecimal there."""
    cells = [
        f'iif({image}."{name}" IS NULL, NULL, hex({image}."{name}"))' if schema.type == "bytes" else f'{image}."{name}"'
        for name, schema in table.columns.items()
    ]
    return f"json_array({', '.join(cells)})" if image else "NULL"


def _row(number: int, table: Table, image: str | None) -> tuple[Any, ...] | None:
    if image is None:
        return None
    cells, schemas = json.loads(image), table.columns.values()
    if len(cells) != len(schemas):
        raise DecodeError(
            f"row {number} of {LOG}: {table.name} had {len(cells)} columns then and has {len(schemas)} now"
        )
    pairs = zip(cells, schemas, strict=True)
    return tuple(bytes.fromhex(cell) if schema.type == "bytes" and cell is not None else cell for cell, schema in pairs)
