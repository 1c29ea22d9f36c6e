"""One point in time at which the log's position, the definitions and all rows that a transaction sees belong together.

After the manual of Debezium's MySQL connector, "Snapshots": lock out writers, begin a transaction with a consistent
snapshot, note the position, read the definitions, let the writers go on. Where the server refuses the global lock (as
hosted servers do) the captured tables are locked instead, by a second connection.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pymysql
from pymysql.constants import ER

from cdckit.errors import SourceError
from cdckit_mysql.checks import check_log
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.connection import Connection, connect, place, release, told
from cdckit_mysql.ddl import Flavor
from cdckit_mysql.ddl.loader import load_tables
from cdckit_mysql.filters import Filters
from cdckit_mysql.grants import may_select
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server import Server, log_end, query, quoted, read_server
from cdckit_mysql.table import Tables

log = logging.getLogger("cdckit.mysql")

_REFUSED = frozenset({ER.ACCESS_DENIED_ERROR, ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR})
_PATIENCE = 28800
"""How many seconds the server lets a snapshot's connection wait for a slow sink."""


@dataclass(frozen=True, slots=True)
class ConsistentPoint:
    """What is true at one point of the log.

    Attributes:
        connection: sees the rows as they were then, until its transaction ends.
        server: the server's facts.
        offset: the point.
        tables: the definitions.
    """

    connection: Connection
    server: Server
    offset: LogOffset
    tables: Tables


@contextmanager
def consistent_point(config: MySqlConfig, filters: Filters) -> Iterator[ConsistentPoint]:
    """Takes the point with `snapshot.locking.mode`; the locks of mode `extended` are held until the context ends.

    Raises:
        RetriableSourceError: the connection was lost.
        SourceError: a lock was not had in time, or a privilege lacks.
    """
    connection = connect(config)
    locker = None
    try:
        with told(config, "taking a consistent point for the snapshot"):
            _prepare(connection, config)
            locker = _lock(connection, config, filters)
            point = _take(connection, config, filters)
            if config.snapshot_locking_mode == "minimal":
                _unlock(connection, locker)
        yield point
    finally:
        release(connection)
        release(locker)


def _prepare(connection: Connection, config: MySqlConfig) -> None:
    seconds = max(1, config.snapshot_lock_timeout_ms // 1000)
    for statement in (
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET time_zone = '+00:00'",
        f"SET SESSION lock_wait_timeout = {seconds}, wait_timeout = {_PATIENCE}, interactive_timeout = {_PATIENCE}, "
        f"net_write_timeout = {_PATIENCE}",
    ):
        query(connection, statement)


def _lock(connection: Connection, config: MySqlConfig, filters: Filters) -> Connection | None:
    """Locks writers out; gives the connection that holds table locks, if those were needed."""
    if config.snapshot_locking_mode == "none":
        return None
    try:
        query(connection, "FLUSH TABLES WITH READ LOCK")
    except pymysql.MySQLError as error:
        if error.args[0] not in _REFUSED:
            raise
        log.info("the server refuses a global read lock: the captured tables are locked instead")
        return _lock_tables(config, filters)
    return None


def _lock_tables(config: MySqlConfig, filters: Filters) -> Connection:
    """Read locks on all captured tables, which a transaction of the same connection would release."""
    locker = connect(config)
    try:
        _prepare(locker, config)
        names = [
            quoted(database, name)
            for database, name in query(
                locker,
                "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE'",
            )
            if filters.captures(database, name)
        ]
        if names:
            with told(config, "locking tables, for which LOCK TABLES is needed where RELOAD is not granted"):
                query(locker, f"LOCK TABLES {', '.join(f'{name} READ' for name in names)}")
    except BaseException:
        locker.close()
        raise
    return locker


def _take(connection: Connection, config: MySqlConfig, filters: Filters) -> ConsistentPoint:
    server = read_server(connection)
    check_log(server, place(config))
    if config.snapshot_locking_mode == "none":
        offset = log_end(connection, server)
        query(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
    else:
        query(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        offset = log_end(connection, server)
    tables = load_tables(connection, filters.tracks, Flavor.MARIADB if server.mariadb else Flavor.MYSQL)
    if not any(filters.captures(*table.id) for table in tables):
        if not may_select(connection):
            raise SourceError(
                f"{place(config)}: user '{config.database_user}' may read no table at all: "
                f"GRANT SELECT ON *.* TO '{config.database_user}'@'%', or on each captured database"
            )
        log.warning(
            "%s: no table that user '%s' may see is captured: check database.include.list and table.include.list, "
            "and GRANT SELECT on what they name",
            place(config),
            config.database_user,
        )
    return ConsistentPoint(connection, server, offset, tables)


def _unlock(connection: Connection, locker: Connection | None) -> None:
    query(locker or connection, "UNLOCK TABLES")
