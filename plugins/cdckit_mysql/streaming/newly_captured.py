"""Tables that are captured from now on, whose definitions the history does not have."""

from __future__ import annotations

import logging

from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import create_statement
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogPosition
from cdckit_mysql.server.connection import Connection, driver_errors
from cdckit_mysql.server.stored_tables import stored_names
from cdckit_mysql.streaming.definitions import Definitions

log = logging.getLogger("cdckit.mysql")


def take_over_missing(
    connection: Connection, config: MySqlConfig, filters: Filters, definitions: Definitions, position: LogPosition
) -> None:
    """Takes the server's definitions of captured tables that are not known, where the history holds no others.

    A table that the include lists name later was not followed until then. What the log tells of its rows is compared
    with the definition, as ever.

    Args:
        connection: asked for definitions.
        config: the source's options.
        filters: what is captured.
        definitions: those in force at `position`.
        position: where the log is read from.
    """
    if not (
        config.schema_history_internal_store_only_captured_tables_ddl
        or config.schema_history_internal_store_only_captured_databases_ddl
    ):
        return
    with driver_errors(config, "listing the tables"):
        for table in stored_names(connection):
            if (filters.captures(*table) or filters.signals(*table)) and definitions.tables.get(*table) is None:
                created = create_statement(connection, table)
                if created is not None:
                    log.warning("%s is captured from now on, with the definition that it has at the server now", table)
                    definitions.take_over(table, created, position)
