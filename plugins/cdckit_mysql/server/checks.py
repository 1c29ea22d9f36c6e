"""What is asked of a server before its log is read: its settings, the user's rights, what include lists match."""

from __future__ import annotations

import logging
import re

from cdckit import SourceError, Unmatched
from cdckit.connector.include_lists import unmatched
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import Server, query
from cdckit_mysql.server.stored_tables import stored_names

log = logging.getLogger("cdckit.mysql")

EVERYTHING = "ALL PRIVILEGES"

_GRANT = re.compile(r"GRANT (.+?) ON (\S+) TO ")
_COLUMNS = re.compile(r"\([^)]*\)")


def check_log(server: Server, place: str) -> None:
    """Whether the server logs rows.

    Args:
        server: what it says of itself.
        place: its name in messages.

    Raises:
        SourceError: it does not; the message says what to set.
    """
    if not server.log_on:
        raise SourceError(
            f"{place} ({server.name}) writes no binary log: set log_bin and a server_id in its configuration, "
            "and restart it",
            number="CDC3301",
        )
    if server.log_format != "ROW":
        raise SourceError(
            f"{place} ({server.name}) logs statements, not rows: set binlog_format=ROW (it is {server.log_format}), "
            "and let sessions that are open connect anew",
            number="CDC3302",
        )


def say_row_image(server: Server, place: str) -> None:
    """Warns where rows are logged in part."""
    if server.row_image != "FULL":
        log.warning(
            "%s logs only some columns of changed rows (binlog_row_image=%s): columns that the log does not carry "
            "become unavailable.value.placeholder or null",
            place,
            server.row_image,
        )


def granted(connection: Connection) -> tuple[set[str], set[str]]:
    """The user's privileges on `*.*`, and those on less than that; those of the roles that are active count."""
    everywhere: set[str] = set()
    somewhere: set[str] = set()
    for (grant,) in query(connection, "SHOW GRANTS"):
        if found := _GRANT.match(grant):
            names = {name.strip().upper() for name in _COLUMNS.sub("", found[1]).split(",")}
            (everywhere if found[2] == "*.*" else somewhere).update(names)
    return everywhere, somewhere


def may_select(connection: Connection) -> bool:
    """Whether the user may read any table at all."""
    everywhere, somewhere = granted(connection)
    return bool((everywhere | somewhere) & {EVERYTHING, "SELECT"})


def unmatched_entries(connection: Connection, config: MySqlConfig) -> list[Unmatched]:
    """The entries of include lists that match nothing. A table counts where its database may be captured."""
    if not (config.database_include_list or config.table_include_list):
        return []
    databases = [name for (name,) in query(connection, "SHOW DATABASES")]
    found = list(unmatched(config.database_include_list, databases, "database.include.list"))
    if config.table_include_list:
        tables = [str(table) for table in stored_names(connection, Filters(config).database)]
        found += unmatched(config.table_include_list, tables, "table.include.list")
    return found
