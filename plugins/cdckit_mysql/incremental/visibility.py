"""Transactions that see all that the log has told of.

A server sends a transaction to its replicas when it is in the log, which may be a moment before other sessions see it.
Rows that are read in that moment would be older than what was told of them, and so must not follow it.
"""

from __future__ import annotations

from contextlib import suppress

import pymysql

from cdckit_mysql.binlog.gtid import GtidSet
from cdckit_mysql.offsets import LogOffset, file_number
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import Server, query

_BEGIN = "START TRANSACTION WITH CONSISTENT SNAPSHOT"


def begin_behind(connection: Connection, server: Server, at: LogOffset) -> bool:
    """Begins a transaction that sees everything before a place in the log; false where it is not visible yet.

    Args:
        connection: in the isolation level REPEATABLE READ.
        server: what it says of itself.
        at: the place.
    """
    if server.mariadb:
        query(connection, _BEGIN)
        return _snapshot_place(connection) >= (file_number(at.file), at.pos)
    if server.gtids:
        [(executed,)] = query(connection, "SELECT @@GLOBAL.gtid_executed")
        if not GtidSet.parse(executed).issuperset(GtidSet.parse(at.gtids or "")):
            return False
        query(connection, _BEGIN)
        return True
    with suppress(pymysql.OperationalError):  # who may not lock reads without
        query(connection, "FLUSH TABLES WITH READ LOCK")
    query(connection, _BEGIN)
    query(connection, "UNLOCK TABLES")
    return True


def _snapshot_place(connection: Connection) -> tuple[int, int]:
    """Where the log was when MariaDB took the transaction's snapshot."""
    found = dict(query(connection, "SHOW STATUS LIKE 'binlog_snapshot_%'"))
    return file_number(found["Binlog_snapshot_file"]), int(found["Binlog_snapshot_position"])
