"""What a server says about itself: kind, identity, log, and where its log ends."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import pymysql
from pymysql.constants import ER

from cdckit_mysql.ddl import Charsets, Flavor, load_charsets
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.connection import Connection

_VARIABLES = (
    "version",
    "server_id",
    "server_uuid",
    "log_bin",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_value_options",
    "binlog_rows_query_log_events",
    "gtid_mode",
    "lower_case_table_names",
    "innodb_native_foreign_keys",
)


_LOGS_CASCADES = (9, 6)
"""The version of MySQL from which on what foreign keys change is logged."""


class RowLogging(NamedTuple):
    """What the schemas of a server's tables depend on.

    Attributes:
        mariadb: whose tables they are.
        complete: whether the log holds every column of a changed row (`binlog_row_image=FULL`).
    """

    mariadb: bool
    complete: bool


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a reader of a server's statements must know, in any process.

    Attributes:
        mariadb: whose statements they are.
        version: 90704 for 9.7.4.
        charsets: the server's character sets.
        explicit_timestamps: the variable `explicit_defaults_for_timestamp`.
        rows: how the server shows rows.
        time_zone: the server's own (`SYSTEM`) where its name says which it is: only UTC's does.
    """

    mariadb: bool
    version: int
    charsets: Charsets
    explicit_timestamps: bool
    rows: RowLogging
    time_zone: str | None = None

    @property
    def flavor(self) -> Flavor:
        """The server's kind."""
        return Flavor.MARIADB if self.mariadb else Flavor.MYSQL


class LogFacts(Protocol):
    """What must be known to read a log's statements; nobody is asked before the first question."""

    @property
    def dialect(self) -> Dialect:
        """Whose statements and rows they are."""

    @property
    def lower_case_table_names(self) -> int:
        """0, 1 or 2, see `Tables`."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server's facts.

    Attributes:
        version: as it says.
        mariadb: whether it is MariaDB.
        identity: what tells it from the others of its topology.
        gtids: whether its log has GTIDs that one can start from.
        log_on: whether it writes a binary log.
        log_format: ROW, MIXED or STATEMENT.
        row_image: FULL, MINIMAL or NOBLOB.
        lower_case_table_names: 0, 1 or 2, see `Tables`.
        logs_cascades: whether its log has the rows that foreign keys change, as MySQL's has since 9.6.
    """

    version: str
    mariadb: bool
    identity: str
    gtids: bool
    log_on: bool
    log_format: str
    row_image: str
    lower_case_table_names: int
    logs_cascades: bool

    @property
    def name(self) -> str:
        """For people."""
        return f"{'MariaDB' if self.mariadb else 'MySQL'} {self.version}"

    @property
    def rows(self) -> RowLogging:
        """How the server shows rows."""
        return RowLogging(self.mariadb, self.row_image == "FULL")


def query(connection: Connection, sql: str, arguments: Any = None) -> list[tuple[Any, ...]]:
    """All rows of a small result."""
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        return list(cursor.fetchall())


def quoted(*names: str) -> str:
    """A name, or a name within another, as SQL writes it whatever it holds."""
    return ".".join(f"`{name.replace('`', '``')}`" for name in names)


def read_server(connection: Connection) -> Server:
    """Asks the server; what it does not know it leaves out."""
    names = ", ".join(f"'{name}'" for name in _VARIABLES)
    found = {
        str(name).lower(): str(value)
        for name, value in query(connection, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
    }
    mariadb = "mariadb" in found["version"].lower()
    return Server(
        version=found["version"],
        mariadb=mariadb,
        identity=found.get("server_uuid") or f"server-id-{found['server_id']}",
        gtids=mariadb or found.get("gtid_mode", "OFF").upper() == "ON",
        log_on=found.get("log_bin", "OFF").upper() == "ON",
        log_format=found.get("binlog_format", "ROW").upper(),
        row_image=found.get("binlog_row_image", "FULL").upper(),
        lower_case_table_names=int(found.get("lower_case_table_names", 0)),
        logs_cascades=not mariadb
        and _numbers(found["version"])[:2] >= _LOGS_CASCADES
        and found.get("innodb_native_foreign_keys", "OFF").upper() != "ON",
    )


def read_dialect(connection: Connection, server: Server) -> Dialect:
    """Asks the server for what its statements depend on."""
    major, minor, patch = _numbers(server.version)
    found = query(connection, "SHOW GLOBAL VARIABLES LIKE 'explicit_defaults_for_timestamp'")
    ((zone,),) = query(connection, "SELECT @@system_time_zone")
    return Dialect(
        mariadb=server.mariadb,
        version=major * 10000 + minor * 100 + patch,
        charsets=load_charsets(connection),
        explicit_timestamps=not found or found[0][1].upper() == "ON",
        rows=server.rows,
        time_zone=zone if zone == "UTC" else None,
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def log_end(connection: Connection, server: Server) -> LogOffset:
    """Where the log ends now: always between two transactions."""
    row = log_status(connection)
    file, pos = str(row[0]), int(row[1])
    if server.mariadb:
        gtids = query(connection, "SELECT BINLOG_GTID_POS(%s, %s)", (file, pos))[0][0]
    else:
        gtids = row[4] if len(row) > 4 else ""
    known = _flat(str(gtids or "")) if server.gtids else None
    return LogOffset(file=file, pos=pos, gtids=known, server=server.identity)


def log_status(connection: Connection) -> tuple[Any, ...]:
    """`SHOW MASTER STATUS` is gone in MySQL 8.4; `SHOW BINARY LOG STATUS` came with 8.2, and not to MariaDB."""
    try:
        return query(connection, "SHOW BINARY LOG STATUS")[0]
    except pymysql.ProgrammingError as error:
        if error.args[0] != ER.PARSE_ERROR:
            raise
    return query(connection, "SHOW MASTER STATUS")[0]


def log_files(connection: Connection) -> dict[str, int]:
    """The log files that the server still has, the oldest first, with their sizes in bytes."""
    return {str(row[0]): int(row[1]) for row in query(connection, "SHOW BINARY LOGS")}


def status_of(connection: Connection, names: Collection[str]) -> dict[str, int]:
    """The status variables of some names that are whole numbers, by their names in small letters."""
    wanted = ", ".join(["%s"] * len(names))
    rows = query(connection, f"SHOW GLOBAL STATUS WHERE Variable_name IN ({wanted})", tuple(names))
    return {str(name).lower(): int(value) for name, value in rows if str(value).isdecimal()}


def _flat(gtids: str) -> str:
    return re.sub(r"\s+", "", gtids)
