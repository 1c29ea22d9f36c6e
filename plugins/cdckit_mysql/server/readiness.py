"""Whether a server and its user are fit to be captured: what `cdc validate --connect` shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Literal

import pymysql

from cdckit import CdcError, Finding, some_names, unmatched_findings
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.incremental.readiness import signal_table
from cdckit_mysql.schema_history.topic_checks import history_topic
from cdckit_mysql.server.checks import EVERYTHING, granted, unmatched_entries
from cdckit_mysql.server.connection import PLAIN_TEXT, Connection, connect, driver_errors, encrypted
from cdckit_mysql.server.facts import Server, log_files, query, read_server
from cdckit_mysql.server.purging import DAY, read_expiry
from cdckit_mysql.server.stored_tables import stored_names
from cdckit_mysql.server.surprises import SURPRISES

LOG_POSITION = ("REPLICATION CLIENT", "BINLOG MONITOR")
"""The privilege to ask where the log ends, by MySQL's name and by MariaDB's since 10.5."""
LOCKS = ("RELOAD", "FLUSH_TABLES")

Check = Callable[[Connection, Server, MySqlConfig], Iterator[Finding]]


def readiness(config: MySqlConfig) -> Sequence[Finding]:
    """Everything that was looked at; a server that cannot be reached is one finding alone."""
    try:
        connection = connect(config)
    except CdcError as error:
        return [Finding.of("connection", error)]
    try:
        with driver_errors(config, "asking for the server's settings"):
            server = read_server(connection)
        found = [Finding("connection", "ok", f"{server.name}, user '{config.database_user}'")]
        for check in _CHECKS:
            found += _findings(check, connection, server, config)
    finally:
        connection.close()
    return found


def _findings(check: Check, connection: Connection, server: Server, config: MySqlConfig) -> list[Finding]:
    name = check.__name__.strip("_").replace("_", " ")
    try:
        with driver_errors(config, f"checking the {name}"):
            return list(check(connection, server, config))
    except CdcError as error:
        return [Finding.of(name, error)]


def _encryption(connection: Connection, _server: Server, config: MySqlConfig) -> Iterator[Finding]:
    if config.database_ssl_mode == "disabled":
        return
    if encrypted(connection):
        yield Finding("encryption", "ok", "the connection is encrypted")
    else:
        message, _, remedy = f"the server {PLAIN_TEXT}".partition("; ")
        yield Finding("encryption", "warn", message, remedy, number="CDC1213")


def _log(_connection: Connection, server: Server, _config: MySqlConfig) -> Iterator[Finding]:
    if not server.log_on:
        remedy = "set log_bin and a server_id in the server's configuration, and restart it"
        yield Finding("log_bin", "fail", "the server writes no binary log", remedy, number="CDC1202")
        return
    yield Finding("log_bin", "ok", "ON")
    rows = server.log_format == "ROW"
    remedy = "" if rows else "SET GLOBAL binlog_format = ROW, also in the configuration; open sessions connect anew"
    yield Finding("binlog_format", "ok" if rows else "fail", server.log_format, remedy, number="CDC1203")
    full = server.row_image == "FULL"
    remedy = (
        ""
        if full
        else "columns that the log does not carry become unavailable.value.placeholder or null; "
        "SET GLOBAL binlog_row_image = FULL to have them"
    )
    yield Finding("binlog_row_image", "ok" if full else "warn", server.row_image, remedy, number="CDC1204")


def _row_metadata(connection: Connection, server: Server, _config: MySqlConfig) -> Iterator[Finding]:
    level = _variable(connection, "binlog_row_metadata")
    if not server.log_on or level is None:
        return
    full = level.upper() == "FULL"
    remedy = (
        ""
        if full
        else "the log tells no names of columns, so a definition that was changed unseen shows only by its types; "
        "SET GLOBAL binlog_row_metadata = FULL"
    )
    yield Finding("binlog_row_metadata", "ok" if full else "warn", level.upper(), remedy, number="CDC1205")


def _gtids(connection: Connection, server: Server, _config: MySqlConfig) -> Iterator[Finding]:
    if not server.log_on or server.mariadb:
        return
    mode = _variable(connection, "gtid_mode") or "OFF"
    remedy = (
        ""
        if server.gtids
        else "no going on at another server; to have it, set enforce_gtid_consistency = ON, then gtid_mode = ON"
    )
    yield Finding("gtid_mode", "ok" if server.gtids else "warn", mode.upper(), remedy, number="CDC1206")


def _privileges(connection: Connection, _server: Server, config: MySqlConfig) -> Iterator[Finding]:
    everywhere, somewhere = granted(connection)
    needed = {"REPLICATION SLAVE": ("REPLICATION SLAVE",), "REPLICATION CLIENT": LOG_POSITION}
    if config.snapshot_locking_mode != "none":
        needed["RELOAD"] = LOCKS
    for privilege, names in needed.items():
        has = EVERYTHING in everywhere or bool(everywhere & set(names))
        remedy = "" if has else f"GRANT {privilege} ON *.* TO '{config.database_user}'@'%'"
        if not has and privilege == "RELOAD" and (everywhere | somewhere) & {EVERYTHING, "LOCK TABLES"}:
            yield Finding(
                privilege,
                "warn",
                "not granted on *.*: the captured tables are locked one by one",
                remedy,
                number="CDC1207",
            )
        else:
            yield Finding(
                privilege, "ok" if has else "fail", "granted" if has else "not granted on *.*", remedy, number="CDC1207"
            )
    yield _select(everywhere, somewhere, config)


def _select(everywhere: set[str], somewhere: set[str], config: MySqlConfig) -> Finding:
    remedy = f"GRANT SELECT ON *.* TO '{config.database_user}'@'%', or on each captured database"
    if everywhere & {EVERYTHING, "SELECT"}:
        return Finding("SELECT", "ok", "granted")
    if somewhere & {EVERYTHING, "SELECT"}:
        return Finding("SELECT", "ok", "granted on some databases: only their tables can be captured")
    return Finding("SELECT", "fail", "not granted", remedy, number="CDC1207")


def _server_id(connection: Connection, server: Server, config: MySqlConfig) -> Iterator[Finding]:
    wanted = config.database_server_id
    if wanted == int(_variable(connection, "server_id") or 0):
        remedy = "set database.server.id to a number that no server and no replica has"
        yield Finding("database.server.id", "fail", f"{wanted} is the server's own", remedy, number="CDC1208")
    elif wanted in _replicas(connection):
        remedy = "set database.server.id to another number, unless it is this very pipeline that runs"
        yield Finding("database.server.id", "warn", f"a replica is connected under {wanted}", remedy, number="CDC1208")
    else:
        yield Finding("database.server.id", "ok", f"{wanted} is free")


def _replicas(connection: Connection) -> set[int]:
    """The ids of the connected replicas; none where the user may not see them."""
    for statement in ("SHOW REPLICAS", "SHOW SLAVE HOSTS"):
        with suppress(pymysql.MySQLError):
            return {int(row[0]) for row in query(connection, statement)}
    return set()


def _retention(connection: Connection, server: Server, _config: MySqlConfig) -> Iterator[Finding]:
    if not server.log_on:
        return
    files = log_files(connection)
    size = f"{len(files)} files, {sum(files.values()) / 1e6:,.1f} MB"
    expiry = read_expiry(connection)
    seconds = expiry.seconds
    if not seconds:
        yield Finding("log retention", "ok", f"the log is never purged by age ({size})")
        return
    status: Literal["ok", "warn"] = "ok" if seconds >= DAY else "warn"
    remedy = (
        "" if status == "ok" else f"a pipeline that is down for longer needs a new snapshot: set {expiry.option} higher"
    )
    yield Finding(
        "log retention", status, f"the log is kept for {seconds / 3600:,.1f} h ({size})", remedy, number="CDC1104"
    )


def _query_text(connection: Connection, server: Server, config: MySqlConfig) -> Iterator[Finding]:
    if not config.include_query:
        return
    name = "binlog_annotate_row_events" if server.mariadb else "binlog_rows_query_log_events"
    if (_variable(connection, name) or "OFF").upper() == "ON":
        yield Finding(name, "ok", "ON")
    else:
        remedy = f"SET GLOBAL {name} = ON, or source.query stays null though include.query is true"
        yield Finding(name, "warn", "OFF", remedy, number="CDC1209")


def _history(_connection: Connection, _server: Server, config: MySqlConfig) -> Iterator[Finding]:
    yield from history_topic(config)


def _tables(connection: Connection, _server: Server, config: MySqlConfig) -> Iterator[Finding]:
    filters = Filters(config)
    captured = [str(table) for table in stored_names(connection, filters.database) if filters.captures(*table)]
    if captured:
        yield Finding("captured tables", "ok", f"{len(captured)}: {some_names(sorted(captured))}")
    else:
        remedy = "check database.include.list and table.include.list: each must match a whole name (database.table)"
        yield Finding("captured tables", "warn", "none of the tables that the user may see", remedy, number="CDC1210")
    yield from unmatched_findings(unmatched_entries(connection, config))


def _variable(connection: Connection, name: str) -> str | None:
    rows = query(connection, "SHOW GLOBAL VARIABLES WHERE Variable_name = %s", (name,))
    return str(rows[0][1]) if rows else None


_CHECKS: Sequence[Check] = (
    _encryption,
    _log,
    _row_metadata,
    _gtids,
    _privileges,
    _server_id,
    _retention,
    _query_text,
    _tables,
    signal_table,
    _history,
    *SURPRISES,
)
