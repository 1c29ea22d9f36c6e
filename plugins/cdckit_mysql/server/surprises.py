"""What of a server and its tables makes a pipeline miss or misread changes although everything else is fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pymysql
from pymysql.cursors import DictCursor

from cdckit import DecodeError, Finding, some_names
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import Flavor, read_definitions
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import Server, log_status, query
from cdckit_mysql.server.foreign_keys import changed_by_foreign_keys, untold
from cdckit_mysql.server.stored_tables import stored_names
from cdckit_mysql.table import Table, TableId

SKEW_SECONDS = 2.0
"""Clocks that differ by less are taken for equal."""
BEHIND_SECONDS = 60
_MOST_TABLES = 2000
"""The definitions of no more tables are looked at: that costs a millisecond each."""


def replication(connection: Connection, server: Server, _config: MySqlConfig) -> Iterator[Finding]:
    """Whether a replica logs what it replicates, and keeps up."""
    status = _replica_status(connection)
    if status is None:
        return
    logs = _global(connection, "log_replica_updates") or _global(connection, "log_slave_updates")
    if server.log_on and (logs or "ON").upper() in ("OFF", "0"):
        name = "log_slave_updates" if server.mariadb else "log_replica_updates"
        said = "the server is a replica, and its log has no changes of its primary"
        remedy = f"set {name} = ON in its configuration and restart it, or read from the primary"
        yield Finding(name, "fail", said, remedy, "CDC1214")
    word = "Replica" if "Replica_SQL_Running" in status else "Slave"
    behind = status.get("Seconds_Behind_Source", status.get("Seconds_Behind_Master"))
    start = f"look at SHOW {word.upper()} STATUS, then START {word.upper()}"
    if status.get(f"{word}_SQL_Running") != "Yes" or status.get(f"{word}_IO_Running") == "No":
        error = status.get("Last_SQL_Error") or status.get("Last_IO_Error") or "no error is told"
        yield Finding("replication", "warn", f"the server is a replica that stands still: {error}", start, "CDC1221")
    elif behind is not None and int(behind) > BEHIND_SECONDS:
        said = f"the server is a replica, {int(behind)} s behind its primary"
        yield Finding("replication", "warn", said, "read from the primary, or from a replica that keeps up", "CDC1221")


def logged_databases(connection: Connection, server: Server, config: MySqlConfig) -> Iterator[Finding]:
    """Whether the log leaves captured databases out."""
    if not server.log_on:
        return
    status = log_status(connection)
    filters = Filters(config)
    does, ignores = ({name.strip() for name in str(text or "").split(",") if name.strip()} for text in status[2:4])
    if not does and not ignores:
        return
    captured = {table.database for table in stored_names(connection, filters.database) if filters.captures(*table)}
    lacking = sorted(name for name in captured if name in ignores or (does and name not in does))
    if lacking:
        option = "binlog_do_db" if does else "binlog_ignore_db"
        said = f"the log leaves out changes of {some_names(lacking)}, which are captured"
        remedy = f"take {option} out of the server's configuration, and restart it"
        yield Finding(option, "fail", said, remedy, "CDC1215")


def partial_json(connection: Connection, server: Server, _config: MySqlConfig) -> Iterator[Finding]:
    """Whether updates of JSON documents can be told whole."""
    options = _global(connection, "binlog_row_value_options") or ""
    if "PARTIAL_JSON" in options.upper() and server.row_image != "FULL":
        said = (
            f"PARTIAL_JSON with binlog_row_image = {server.row_image}: documents that were changed in part are unknown"
        )
        remedy = "SET PERSIST binlog_row_value_options = '', or SET PERSIST binlog_row_image = FULL"
        yield Finding("binlog_row_value_options", "warn", said, remedy, "CDC1216")


def time_zone(connection: Connection, _server: Server, _config: MySqlConfig) -> Iterator[Finding]:
    """Whether the log names the zone in which sessions write."""
    [(zone, system)] = query(connection, "SELECT @@global.time_zone, @@system_time_zone")
    if str(zone).upper() == "SYSTEM" and system != "UTC":
        said = (
            f"SYSTEM, which is {system}: the log does not name it, so that what rows have in a TIMESTAMP column which "
            "a statement adds with a default is not known"
        )
        remedy = "SET GLOBAL time_zone to the zone itself, such as '+00:00' (default_time_zone in the configuration)"
        yield Finding("time_zone", "warn", said, remedy, "CDC1217")


def clock(connection: Connection, _server: Server, _config: MySqlConfig) -> Iterator[Finding]:
    """How far the server's clock and this one are apart, beyond what the question itself took."""
    asked = time.time()
    [(theirs,)] = query(connection, "SELECT UNIX_TIMESTAMP(NOW(6))")
    answered = time.time()
    ahead = float(theirs) - (asked + answered) / 2
    if abs(ahead) - (answered - asked) / 2 > SKEW_SECONDS:
        said = f"the server's clock is {abs(ahead):,.1f} s {'ahead of' if ahead > 0 else 'behind'} the one here"
        remedy = "have both follow the same time servers (NTP)"
        yield Finding("clock", "warn", said, remedy, "CDC1218")


def definitions(connection: Connection, server: Server, config: MySqlConfig) -> Iterator[Finding]:
    """Whether captured tables have keys, all their columns' values can be told, and all their changes are logged."""
    filters = Filters(config)
    names = [table for table in stored_names(connection, filters.database) if filters.captures(*table)][:_MOST_TABLES]
    wanted = {table for table in names if not filters.signals(*table)}
    found = read_definitions(connection, lambda database, name: TableId(database, name) in wanted)
    try:
        tables = list(found.tables(Flavor.MARIADB if server.mariadb else Flavor.MYSQL))
    except DecodeError as error:
        yield Finding.of("definitions", error)
        return
    yield from _foreign_keys(found.statements, filters, server)
    yield from _keys([table for table in tables if table.id in wanted], filters)
    yield from _columns([table for table in tables if table.id in wanted], filters, config, server)


def _foreign_keys(statements: Mapping[TableId, str | None], filters: Filters, server: Server) -> Iterator[Finding]:
    found = [] if server.logs_cascades else changed_by_foreign_keys(statements, filters.captures)
    if found:
        remedy = (
            "delete or change such rows by statements before the parent's, or read the tables anew from time to time"
        )
        yield Finding("foreign keys", "warn", untold(found), remedy, "CDC1225")


def _keys(tables: Sequence[Table], filters: Filters) -> Iterator[Finding]:
    without = sorted(str(table.id) for table in tables if not filters.key_columns(table))
    if without:
        said = f"{len(without)} captured tables have none: {some_names(without)}"
        remedy = f"ALTER TABLE {without[0]} ADD PRIMARY KEY (…), or name columns by message.key.columns"
        yield Finding("primary keys", "warn", said, remedy, "CDC1219")


def _columns(tables: Sequence[Table], filters: Filters, config: MySqlConfig, server: Server) -> Iterator[Finding]:
    """By making what the first event of each table would make."""
    versions = TableVersions(config, filters, server.rows, run_id="")
    for table in tables:
        try:
            versions.of(table)
        except DecodeError as error:
            remedy = "leave the column out by column.exclude.list"
            yield Finding("columns", "fail", f"{table.id}: {error}", remedy, "CDC1220")


def _replica_status(connection: Connection) -> dict[str, Any] | None:
    """What a replica says of its replication; None of a server that is none, or where the user may not ask."""
    for statement in ("SHOW REPLICA STATUS", "SHOW SLAVE STATUS"):  # the former since 8.0.22
        with suppress(pymysql.MySQLError), connection.cursor(DictCursor) as cursor:
            cursor.execute(statement)
            return next(iter(cursor.fetchall()), None)
    return None


def _global(connection: Connection, name: str) -> str | None:
    rows = query(connection, "SHOW GLOBAL VARIABLES WHERE Variable_name = %s", (name,))
    return str(rows[0][1]) if rows else None


SURPRISES: Sequence[Callable[[Connection, Server, MySqlConfig], Iterator[Finding]]] = (
    replication,
    logged_databases,
    partial_json,
    time_zone,
    clock,
    definitions,
)
