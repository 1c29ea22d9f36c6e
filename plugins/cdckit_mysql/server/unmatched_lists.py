"""Entries of the include lists that match nothing on the server."""

from __future__ import annotations

from cdckit import Unmatched
from cdckit.connector.include_lists import unmatched
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import query

_TABLES = (
    "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES "
    "WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')"
)


def unmatched_entries(connection: Connection, config: MySqlConfig) -> list[Unmatched]:
    """Each of them. A table counts where its database may be captured."""
    if not (config.database_include_list or config.table_include_list):
        return []
    databases = [name for (name,) in query(connection, "SHOW DATABASES")]
    found = list(unmatched(config.database_include_list, databases, "database.include.list"))
    if config.table_include_list:
        filters = Filters(config)
        tables = [f"{database}.{name}" for database, name in query(connection, _TABLES) if filters.database(database)]
        found += unmatched(config.table_include_list, tables, "table.include.list")
    return found
