"""Tables that `cdc resnapshot` asks for: where the log is read first, and which of them there are."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from cdckit.connector.resnapshot import Resnapshot
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset, file_number
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.snapshot.selection import ChosenTable
from cdckit_mysql.snapshot.shown_definitions import take_over_shown
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.newly_captured import take_over_missing
from cdckit_mysql.streaming.progress import is_beyond
from cdckit_mysql.table import Tables

log = logging.getLogger("cdckit.mysql")


def tables_now(
    connection: Connection,
    config: MySqlConfig,
    filters: Filters,
    dialect: Dialect,
    history: SchemaHistory,
    tables: Tables,
    at: LogOffset,
    *,
    begins: bool,
) -> Tables:
    """The definitions at the log's end, with those of tables that are captured only from now on.

    Where the rows begin to be read, the server's own definitions of their tables take the place of others.
    """
    definitions = Definitions(tables, config, filters, dialect, history=history)
    take_over_missing(connection, config, filters, definitions, at.position)
    if begins and at.only is not None:
        take_over_shown(connection, config, filters, dialect, definitions, at, at.only)
    return definitions.tables


def warn_of_missing(wanted: Resnapshot | None, chosen: Sequence[ChosenTable]) -> None:
    """Tells which of the tables are gone by now."""
    found = {str(table.id) for table in chosen}
    for name in wanted.tables if wanted is not None else ():
        if name not in found:
            log.warning("%s is not read again: there is no such table any more", name)


def lies_before(at: LogOffset, end: LogOffset, *, mariadb: bool) -> bool:
    """Whether the log is to be read up to `end` first; always where `at` has no place on the server yet."""
    if at.by_gtid:
        return not at.file or is_beyond(end, at, mariadb=mariadb)
    return _place(at) < _place(end)


def _place(at: LogOffset) -> tuple[int, int]:
    return file_number(at.file), at.pos
