"""A session of the state store `sql`: statements, transactions, and faults told as the store's."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pymysql
from pymysql.constants import CR, ER
from pymysql.cursors import Cursor

from cdckit import ConfigError, SourceError, StateError
from cdckit_mysql.server.connection import log_in, place, release, source_error
from cdckit_mysql.server.driver import CheckedConnection
from cdckit_mysql.state.config import SqlStateConfig
from cdckit_mysql.state.tables import FORMAT, MADE_BY, Tables

Row = tuple[Any, ...]
_ATTEMPTS = 10
"""How often a transaction is run that the server rolls back for the sake of another one."""
_BESIDES = 1000
"""How many bytes a statement has at the most beside a value."""
_DENIED = (ER.DBACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR, ER.COLUMNACCESS_DENIED_ERROR)
_LOST = (CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, CR.CR_SERVER_LOST_EXTENDED, 0)
"""0 is what the driver says of statements on a connection that it has closed."""


class StateSession:
    """A connection to the store's tables, on which threads take turns. What it loses it does not open again.

    Its waits are no longer than `connect.timeout.ms`, and a stop does not end them: what a pipeline has done until then
    is saved behind it.

    Args:
        config: where the tables are.

    Raises:
        StateError: the server cannot be reached, or refuses.
        ConfigError: a key or certificate file cannot be read.
    """

    def __init__(self, config: SqlStateConfig) -> None:
        self.config = config
        self.tables = Tables(config.table_prefix)
        self.place = f"{place(config)}, database '{config.database_dbname}'"
        self._turn = threading.RLock()
        self._logged_in = False
        with self.state_errors("logging in"):
            self._connection = self._log_in()
        self._logged_in = True
        try:
            self._largest = self._set_up()
        except BaseException:
            release(self._connection)
            raise

    def _log_in(self) -> pymysql.connections.Connection[Any]:
        try:
            return log_in(self.config, CheckedConnection, self.config.database_dbname)
        except ConfigError as error:
            raise ConfigError(*(f"state.{problem}" for problem in error.problems)) from error

    def _set_up(self) -> int:
        """Gives the size of the largest statement."""
        seconds = self.config.hold_timeout_ms // 1000
        lock_wait = max(1, self.config.connect_timeout_ms // 3000)
        self.rows(
            "setting up the session",
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES', SESSION wait_timeout = %s, "
            "SESSION innodb_lock_wait_timeout = %s",
            (seconds, lock_wait),
        )
        [(largest,)] = self.rows("setting up the session", "SELECT @@max_allowed_packet")
        return int(largest)

    @property
    def open(self) -> bool:
        """Whether the connection is there, as far as is known."""
        return bool(self._connection.open)

    def rows(self, doing: str, statement: str, arguments: Sequence[Any] = ()) -> list[Row]:
        """What a statement finds.

        Args:
            doing: what it is for, as messages tell it.
            statement: with `{pipelines}` for the name of a table.
            arguments: for its places.

        Raises:
            StateError: it fails.
        """
        with self._turn, self.state_errors(doing), self._connection.cursor() as cursor:
            cursor.execute(self.tables.named(statement), arguments or None)
            return list(cursor.fetchall())

    def change(self, doing: str, change: Callable[[Cursor], None]) -> None:
        """Runs a transaction, again where the server ends it for the sake of another one.

        Raises:
            StateError: it fails; nothing of it was done, unless the connection was lost.
        """
        with self._turn, self.state_errors(doing):
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    self._run(change)
                except pymysql.OperationalError as error:
                    if error.args[0] != ER.LOCK_DEADLOCK or attempt == _ATTEMPTS:
                        raise
                else:
                    return

    def _run(self, change: Callable[[Cursor], None]) -> None:
        self._connection.begin()
        try:
            with self._connection.cursor() as cursor:
                cursor.max_stmt_length = min(cursor.max_stmt_length, self._largest - _BESIDES)
                change(cursor)
            self._connection.commit()
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        """A connection on which that cannot be done is closed: the server does it then."""
        try:
            if self.open:
                self._connection.rollback()
        except pymysql.MySQLError:
            release(self._connection)

    def require_size(self, text: str, table: str, name: str) -> None:
        """Makes sure that the server takes a value.

        Raises:
            StateError: it is too large.
        """
        size = len(text) + text.count('"') + text.count("\\") + text.count("'") + _BESIDES
        if size > self._largest:
            raise StateError(
                f"state store, {self.place}: '{name}' in table {table} needs a statement of {size:,} bytes, and the "
                f"server takes {self._largest:,}: raise its max_allowed_packet",
                number="CDC7301",
            )

    def has_tables(self) -> bool:
        """Whether the tables are there.

        Raises:
            StateError: they have another format.
        """
        found = self._format()
        if found not in (None, FORMAT):
            raise StateError(
                f"state store, {self.place}: table {self.tables.format} says format {found}, and this version of "
                f"cdckit reads format {FORMAT}: run the version that made the tables, or name others by table.prefix",
                number="CDC7303",
            )
        return found is not None

    def _format(self) -> int | None:
        with self._turn, self.state_errors("looking for the tables"), self._connection.cursor() as cursor:
            try:
                cursor.execute(self.tables.named("SELECT version FROM {format}"))
            except pymysql.ProgrammingError as error:
                if error.args[0] != ER.NO_SUCH_TABLE:
                    raise
                return None
            return next((int(version) for [version] in cursor.fetchall()), None)

    def make_tables(self) -> None:
        """Makes the tables where they are not there yet."""
        if not self.has_tables():
            for statement in MADE_BY:
                self.rows("making the tables", statement, [FORMAT] if "%s" in statement else ())

    def ping(self) -> None:
        """Gives the server a sign of life.

        Raises:
            StateError: the connection is lost.
        """
        with self._turn, self.state_errors("waiting"):
            self._connection.ping(reconnect=False)

    def close(self) -> None:
        """Ends the connection."""
        release(self._connection)

    @contextmanager
    def state_errors(self, doing: str) -> Iterator[None]:
        """Faults as `StateError`, with server, database and what to do."""
        try:
            yield
        except SourceError as error:
            raise StateError(f"state store: {error}") from error
        except pymysql.MySQLError as error:
            raise self._error(error, doing) from error
        except ssl.SSLError as error:
            raise StateError(
                f"state store, {self.place}: TLS failed: {error}; check state.database.ssl.*", number="CDC7301"
            ) from error
        except OSError as error:
            raise StateError(
                f"state store, {self.place}: {error}; check state.database.hostname", number="CDC7301"
            ) from error

    def _error(self, error: pymysql.MySQLError, doing: str) -> StateError:
        config, (code, text) = self.config, (*error.args, "", "")[:2]
        if code == ER.BAD_DB_ERROR:
            return StateError(
                f"state store: {self.place} is not there: make it (CREATE DATABASE {config.database_dbname}), or check "
                "state.database.dbname",
                number="CDC7301",
            )
        if code in _DENIED:
            return StateError(
                f"state store, {self.place}: user '{config.database_user}' lacks a privilege for {doing} ({text}): "
                f"GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON {config.database_dbname}.* "
                f"TO '{config.database_user}'"
            )
        if code == ER.LOCK_WAIT_TIMEOUT:
            return StateError(
                f"state store, {self.place}: another session holds what is asked for while {doing}: SHOW PROCESSLIST "
                "tells which; end it, and start the pipeline again"
            )
        if self._logged_in and (code in _LOST or not self.open):
            return StateError(
                f"state store, {self.place}: the connection was lost while {doing} ({text or 'it had ended before'}), "
                "and with it any hold on the state: check that the server runs, and start the pipeline again; it goes "
                "on from what was saved"
            )
        return StateError(f"state store: {source_error(config, error, f'{doing} in {self.place}')}")
