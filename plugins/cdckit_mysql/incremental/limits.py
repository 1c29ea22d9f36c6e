"""Statements that hold a condition of a signal: they end in time, and what they do wrong stops nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pymysql

from cdckit import RetriableSourceError, SourceError
from cdckit.connector.incremental import UnreadableError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import query

_TIMED_OUT = frozenset({3024, 1969})
"""ER_QUERY_TIMEOUT of MySQL, ER_STATEMENT_TIMEOUT of MariaDB."""
_OF_THE_CLIENT = range(2000, 3000)
"""Errors that tell of the connection."""


@contextmanager
def conditioned(connection: Connection, config: MySqlConfig, name: str, *, mariadb: bool) -> Iterator[None]:
    """Runs statements with a condition of a signal.

    Args:
        connection: what they run on.
        config: how long they may take.
        name: the table that they read.
        mariadb: whose server it is.

    Raises:
        UnreadableError: the server refuses one, or has ended it.
    """
    try:
        with _limited(connection, config.signal_statement_timeout_ms, mariadb=mariadb):
            yield
    except (SourceError, RetriableSourceError, pymysql.MySQLError) as error:
        code = _code(error)
        if not connection.open or code is None or code in _OF_THE_CLIENT:
            raise
        raise UnreadableError(_said(error, code, config, name), "SQL_EXCEPTION") from error


def _code(error: BaseException) -> int | None:
    """The server's number of an error, or of that which it came from."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, pymysql.MySQLError):
        found = found.__cause__
    return found.args[0] if found is not None and found.args and isinstance(found.args[0], int) else None


def _said(error: Exception, code: int, config: MySqlConfig, name: str) -> str:
    if code in _TIMED_OUT:
        limit = config.signal_statement_timeout_ms
        return f"reading what a signal asks for of {name} took longer than signal.statement.timeout.ms={limit}"
    return f"the server does not understand the filter of {name}: {error.args[-1]}"


@contextmanager
def _limited(connection: Connection, milliseconds: int, *, mariadb: bool) -> Iterator[None]:
    variable = "max_statement_time" if mariadb else "max_execution_time"
    before = _value(connection, variable) if milliseconds else None
    if before is None:
        yield
        return
    limit = milliseconds / 1000 if mariadb else milliseconds
    query(connection, f"SET SESSION {variable} = {limit}")
    try:
        yield
    finally:
        if connection.open:
            with suppress(pymysql.MySQLError):  # lost: nothing more is run on it
                query(connection, f"SET SESSION {variable} = {before}")


def _value(connection: Connection, variable: str) -> str | None:
    """The variable's value; None on servers from before there was one."""
    found = query(connection, f"SHOW SESSION VARIABLES LIKE '{variable}'")
    return str(found[0][1]) if found else None
