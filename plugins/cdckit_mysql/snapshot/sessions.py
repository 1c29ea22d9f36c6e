"""Connections that snapshots read through: in UTC, repeatable, and patient with a slow sink."""

from __future__ import annotations

from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.server.connection import Connection, connect, driver_errors, release
from cdckit_mysql.server.facts import query

PATIENCE = 28_800
"""For how many seconds at least the server lets a snapshot's connection wait for a slow sink."""
_RAISED = frozenset({"wait_timeout", "interactive_timeout", "net_write_timeout", "net_read_timeout"})
"""Session variables that are set to `PATIENCE` where they are lower."""
_UNLIMITED = frozenset(
    {"max_execution_time", "max_statement_time", "idle_transaction_timeout", "idle_readonly_transaction_timeout"}
)
"""Session variables that are set to 0, for no limit, where the server knows them."""
_FRESH = "information_schema_stats_expiry"
"""MySQL's: for how many seconds the estimates of tables' sizes may be old."""


def connect_for_snapshot(config: MySqlConfig) -> Connection:
    """A connection whose session is set up for a snapshot.

    Raises:
        RetriableSourceError: the server cannot be reached now.
        SourceError: it refuses.
    """
    connection = connect(config)
    try:
        with driver_errors(config, "setting up a session for the snapshot"):
            _set_up(connection, config)
    except BaseException:
        release(connection)
        raise
    return connection


def _set_up(connection: Connection, config: MySqlConfig) -> None:
    query(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    settings = {"lock_wait_timeout": str(max(1, config.snapshot_lock_timeout_ms // 1000)), "time_zone": "'+00:00'"}
    names = ", ".join(f"'{name}'" for name in sorted(_RAISED | _UNLIMITED | {_FRESH}))
    for name, value in query(connection, f"SHOW SESSION VARIABLES WHERE Variable_name IN ({names})"):
        settings[name] = str(max(int(value), PATIENCE)) if name in _RAISED else "0"
    query(connection, "SET " + ", ".join(f"SESSION {name} = {value}" for name, value in settings.items()))
