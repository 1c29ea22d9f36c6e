"""What signals of one source need beside its log: a connection that is kept, channels, notifications."""

from __future__ import annotations

import time

from cdckit import SourceContext
from cdckit.connector.notifications import Notifications
from cdckit.connector.signals import Mailbox
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.connection import Connection, connect, driver_errors, release
from cdckit_mysql.server.facts import Server, log_end, query, read_server
from cdckit_mysql.server.stored_tables import stored_names

_IDLE = 10.0
"""After so many seconds without use, the connection is asked whether it is still there."""


class SnapshotServer:
    """Kept for as long as the source is open.

    Args:
        config: the source's options.
        context: the runner's.
        notifications: what is told of snapshots.
        mailbox: the channels.
    """

    def __init__(
        self, config: MySqlConfig, context: SourceContext, notifications: Notifications, mailbox: Mailbox
    ) -> None:
        self.notifications = notifications
        self.stopping = context.stopping
        self.mailbox = mailbox
        self._config = config
        self._connection: Connection | None = None
        self._server: Server | None = None
        self._used = 0.0

    def connection(self) -> Connection:
        """A connection that is open, its session in UTC.

        Raises:
            RetriableSourceError: the server cannot be reached now.
            SourceError: it refuses.
        """
        idle, self._used = time.monotonic() - self._used, time.monotonic()
        connection = self._connection
        if connection is not None and connection.open and idle > _IDLE:
            with driver_errors(self._config):
                connection.ping(reconnect=False)
        if connection is None or not connection.open:
            connection = self._connection = connect(self._config)
            with driver_errors(self._config, "asking the server for its settings"):
                query(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                query(connection, "SET time_zone = '+00:00'")
                self._server = read_server(connection)
        return connection

    def facts(self) -> Server:
        """What the server says of itself."""
        self.connection()
        assert self._server is not None
        return self._server

    def captured(self, filters: Filters) -> list[str]:
        """The names of the captured tables that the server has now."""
        with driver_errors(self._config, "listing the tables"):
            found = list(stored_names(self.connection(), filters.database))
        return sorted(str(table) for table in found if filters.captures(*table))

    def log_end(self) -> LogOffset:
        """Where the log ends now."""
        connection = self.connection()
        with driver_errors(self._config, "asking for the log's end"):
            return log_end(connection, self.facts())

    def close(self) -> None:
        """Lets the connection go."""
        release(self._connection)
