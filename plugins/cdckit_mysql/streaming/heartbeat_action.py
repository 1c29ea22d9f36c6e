"""A statement at each heartbeat (`heartbeat.action.query`), such as one that keeps a quiet database's log moving."""

from __future__ import annotations

import logging

from cdckit import SourceError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.server.connection import Connection, at_once, connect, driver_errors, release

log = logging.getLogger("cdckit.mysql")


class HeartbeatAction:
    """Runs the statement on a connection of its own, which is opened when first needed.

    A statement that fails is logged, and tried again with the next heartbeat: it is no part of what is captured.
    """

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._connection: Connection | None = None

    def run(self) -> None:
        """Runs it, if there is one."""
        if not self._config.heartbeat_action_query:
            return
        try:
            self._execute()
        except SourceError as error:
            log.warning("heartbeat.action.query failed: %s", error)
            self.close()

    def close(self) -> None:
        """Lets the connection go."""
        release(self._connection)
        self._connection = None

    def _execute(self) -> None:
        if self._connection is None:
            self._connection = connect(self._config)
        with (
            driver_errors(self._config, "running heartbeat.action.query"),
            at_once(self._connection, self._config),
            self._connection.cursor() as cursor,
        ):
            cursor.execute(self._config.heartbeat_action_query)
