"""Whether signals and incremental snapshots can work: a part of what `cdc validate --connect` shows."""

from __future__ import annotations

from collections.abc import Iterator

from cdckit import Finding
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.server.checks import EVERYTHING, granted
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import Server, query

_COLUMNS = 3
"""id, type and data."""


def signal_table(connection: Connection, server: Server, config: MySqlConfig) -> Iterator[Finding]:
    """The table of signals, and what watermarks need."""
    if config.read_only and not server.gtids:
        yield Finding(
            "read.only", "fail", "the server has no GTIDs", "set gtid_mode=ON, or read.only=false", number="CDC1206"
        )
    if not config.signal_data_collection:
        return
    database, _, name = config.signal_data_collection.partition(".")
    statement = "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
    [(columns,)] = query(connection, statement, (database, name))
    if columns != _COLUMNS:
        what = (
            f"{database}.{name} has {columns} columns"
            if columns
            else f"{database}.{name} is not there, or not to be seen"
        )
        remedy = (
            f"CREATE TABLE {database}.{name} (id VARCHAR(64) PRIMARY KEY, type VARCHAR(32) NOT NULL, "
            "data VARCHAR(2048))"
        )
        yield Finding("signal.data.collection", "fail", what, remedy, number="CDC1212")
        return
    missing = [] if config.read_only else _missing(connection, config)
    if missing:
        remedy = f"GRANT {', '.join(missing)} ON {database}.{name} TO '{config.database_user}'@'%', or read.only=true"
        what = "incremental snapshots write watermarks there, which the user may not"
        yield Finding("signal.data.collection", "warn", what, remedy, number="CDC1212")
    else:
        yield Finding("signal.data.collection", "ok", f"{database}.{name}")


def _missing(connection: Connection, config: MySqlConfig) -> list[str]:
    everywhere, somewhere = granted(connection)
    deletes = config.incremental_snapshot_watermarking_strategy == "insert_delete"
    needed = ["INSERT", "DELETE"] if deletes else ["INSERT"]
    has = everywhere | somewhere
    return [] if EVERYTHING in has else [privilege for privilege in needed if privilege not in has]
