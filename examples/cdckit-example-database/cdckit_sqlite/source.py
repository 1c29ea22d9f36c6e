"""The source `sqlite-log`: the kit's `RowLogSource`, with the source block of SQLite's events."""

from __future__ import annotations

import time
from importlib.metadata import version

from cdckit import INT64, OPTIONAL_INT64, STRING, Struct, logical, struct_schema
from cdckit.connector.row_log import Change, RowLogSource, Table
from cdckit_sqlite.config import SqliteConfig
from cdckit_sqlite.database import SqliteFile

_SOURCE = struct_schema(
    "io.debezium.connector.sqlite.Source",
    {
        "version": STRING,
        "connector": STRING,
        "name": STRING,
        "ts_ms": INT64,
        "snapshot": logical.snapshot_mark(("true", "last", "false", "incremental")),
        "db": STRING,
        "table": STRING,
        "id": OPTIONAL_INT64,
    },
)
_VERSION = version("cdckit-example-database")


class SqliteSource(RowLogSource[SqliteConfig]):
    """Reads tables, then the log that triggers write."""

    def __init__(self, config: SqliteConfig) -> None:
        super().__init__(config, SqliteFile(config), _SOURCE)

    def _source_block(self, table: Table, snapshot: str, change: Change | None) -> Struct:
        number, ms = (None, time.time_ns() // 1_000_000) if change is None else (change.number, change.time_ms)
        here = (_VERSION, self._config.connector, self._config.topic_prefix)
        return Struct(_SOURCE, (*here, ms, snapshot, table.database, table.name, number))
