"""Tables that the server shows otherwise than its log has told, as they are read again: the server's word holds.

No statement tells of such a difference: the server has changed what it shows by itself, a session has logged nothing,
or a statement was read otherwise than the server did. So what the server shows is in force at the place behind which
the rows are read, unless a statement behind that place has made the table so: the log is looked through for one.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence

from cdckit import SourceError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import DdlReader, create_statement, load_each
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.connection import Connection, place
from cdckit_mysql.server.facts import Dialect, log_end, read_server
from cdckit_mysql.snapshot.changed import shown_otherwise
from cdckit_mysql.snapshot.statements_between import FoundStatement, statements_between
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.opening import on_server
from cdckit_mysql.table import TableId

log = logging.getLogger("cdckit.mysql")


def take_over_shown(
    connection: Connection,
    config: MySqlConfig,
    filters: Filters,
    dialect: Dialect,
    definitions: Definitions,
    at: LogOffset,
    wanted: Collection[str],
) -> None:
    """Takes the server's definitions of the tables that are read again behind `at`, where they are others.

    One of which a statement behind `at` tells stays as it was: whoever compares it finds that it has changed since.

    Args:
        connection: asked for definitions.
        config: the source's options.
        filters: what is captured.
        dialect: whose statements they are.
        definitions: those in force at `at`.
        at: the place.
        wanted: the tables' names.

    Raises:
        RetriableSourceError: the connection was lost.
        SourceError: the server's own statement cannot be read.
    """
    reader = DdlReader(dialect.flavor, charsets=dialect.charsets)
    captured = [table for table in map(_table, wanted) if filters.captures(*table)]
    found = load_each(connection, captured, reader)
    others = {
        table: reason
        for table, now in found.items()
        if now is not None and (reason := shown_otherwise(definitions.tables.get(*table), now))
    }
    if not others:
        return
    # The log's end is asked for behind the statements: what they show was logged before that.
    statements = {table: create_statement(connection, table) for table in others}
    server = read_server(connection)
    start, end = on_server(at, server, place(config)), log_end(connection, server)
    told = _told_of(*statements_between(config, filters, dialect, definitions.tables.copy(), start, end), others)
    for table, statement in statements.items():
        if statement is not None and table not in told:
            _take_over(definitions, table, statement, at)
            log.warning(
                "%s %s at the server, which no statement of its log has told of: so it is in force from %s on",
                table,
                others[table],
                at.position,
            )


def _table(name: str) -> TableId:
    return TableId(*name.split(".", 1))


def _told_of(found: Sequence[FoundStatement], contradiction: str | None, tables: Iterable[TableId]) -> set[TableId]:
    """Those of the tables that a statement has made what they are, or may have."""
    names = {name for statement in found for name in statement.tables}
    return {table for table in tables if contradiction is not None or str(table) in names}


def _take_over(definitions: Definitions, table: TableId, statement: str, at: LogOffset) -> None:
    try:
        definitions.take_over(table, statement, at.position, behind=lambda: at)
    except ValueError as error:
        raise SourceError(f"the server's own statement cannot be read: {error}") from error
