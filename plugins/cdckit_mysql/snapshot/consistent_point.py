"""One point in time at which the log's position, the definitions and all rows that transactions see belong together.

After the manual of Debezium's MySQL connector, "Snapshots": lock out writers, note the position, begin transactions
with a consistent snapshot, read the definitions, let the writers go on. The position is noted first, so that without a
lock (`snapshot.locking.mode=none`) the log repeats what a transaction has seen already, instead of leaving it out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from cdckit import UNHEARD, Notices, SourceError
from cdckit.connector.guardrail import check_guardrail
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import Flavor, ServerDefinitions, read_definitions
from cdckit_mysql.events.topic_collisions import check_topics
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_changes.snapshot import CreateStatements, read_defaults
from cdckit_mysql.server.checks import check_log, may_select
from cdckit_mysql.server.connection import Connection, driver_errors, place, release
from cdckit_mysql.server.facts import Server, log_end, query, read_server
from cdckit_mysql.server.foreign_keys import changed_by_foreign_keys, untold
from cdckit_mysql.snapshot.locks import SnapshotLocks
from cdckit_mysql.snapshot.sessions import connect_for_snapshot
from cdckit_mysql.table import TableId, Tables

log = logging.getLogger("cdckit.mysql")


@dataclass(frozen=True, slots=True)
class ConsistentPoint:
    """What is true at one point of the log.

    Attributes:
        connections: see the rows as they were then, until their transactions end.
        server: the server's facts.
        offset: the point.
        tables: the definitions.
        created: the statements that make them, where the pipeline tells of them.
    """

    connections: Sequence[Connection]
    server: Server
    offset: LogOffset
    tables: Tables
    created: CreateStatements | None = None


@contextmanager
def consistent_point(
    config: MySqlConfig, filters: Filters, connections: int = 1, notices: Notices = UNHEARD
) -> Iterator[ConsistentPoint]:
    """Takes the point with `snapshot.locking.mode`; the locks of mode `extended` are held until the context ends.

    Args:
        config: the source's options.
        filters: what is captured.
        connections: how many connections see the rows as they were then.
        notices: told of the locks.

    Raises:
        RetriableSourceError: the connection was lost.
        SourceError: a lock was not had in time, or a privilege lacks.
    """
    with ExitStack() as stack:
        opened = [_opened(config, stack) for _ in range(connections)]
        locks = SnapshotLocks(config, filters, notices)
        # Registered before they are taken: a lock that is not had in time leaves none behind.
        stack.callback(locks.release)
        locks.take()
        with driver_errors(config, "taking a consistent point for the snapshot"):
            server, offset, definitions = _take(opened, config, filters)
            locks.definitions_read()
            _warn_of_cascades(server, definitions, filters)
            tables, created = _tables(opened[0], server, definitions, config, filters)
        yield ConsistentPoint(opened, server, offset, tables, created)


def _opened(config: MySqlConfig, stack: ExitStack) -> Connection:
    connection = connect_for_snapshot(config)
    stack.callback(release, connection)
    return connection


def _take(
    connections: Sequence[Connection], config: MySqlConfig, filters: Filters
) -> tuple[Server, LogOffset, ServerDefinitions]:
    """What needs the locks: the position, the transactions, the server's statements."""
    connection = connections[0]
    server = read_server(connection)
    check_log(server, place(config))
    offset = log_end(connection, server)
    # Without WITH CONSISTENT SNAPSHOT a transaction would see the rows of its first read, after the locks are gone.
    for each in connections:
        query(each, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
    return server, offset, read_definitions(connection, filters.tracks, filters.captures)


def _warn_of_cascades(server: Server, definitions: ServerDefinitions, filters: Filters) -> None:
    tables = [] if server.logs_cascades else changed_by_foreign_keys(definitions.statements, filters.captures)
    if tables:
        log.warning("%s", untold(tables))


def _tables(
    connection: Connection, server: Server, definitions: ServerDefinitions, config: MySqlConfig, filters: Filters
) -> tuple[Tables, CreateStatements | None]:
    """The definitions, and the statements that make them where the pipeline tells of them."""
    keeps = config.include_schema_changes or config.schema_history_internal == "kafka"
    statements: dict[TableId, str] | None = {} if keeps else None
    tables = definitions.tables(Flavor.MARIADB if server.mariadb else Flavor.MYSQL, statements)
    if not any(filters.captures(*table.id) for table in tables):
        _say_nothing_is_captured(connection, config)
    check_guardrail(config, filters.count(tables))
    check_topics(config, filters, tables)
    return tables, None if statements is None else CreateStatements(read_defaults(connection), statements)


def _say_nothing_is_captured(connection: Connection, config: MySqlConfig) -> None:
    if not may_select(connection):
        raise SourceError(
            f"{place(config)}: user '{config.database_user}' may read no table at all: "
            f"GRANT SELECT ON *.* TO '{config.database_user}'@'%', or on each captured database",
            number="CDC3203",
        )
    log.warning(
        "%s: no table that user '%s' may see is captured: check database.include.list and table.include.list, "
        "and GRANT SELECT on what they name",
        place(config),
        config.database_user,
    )
