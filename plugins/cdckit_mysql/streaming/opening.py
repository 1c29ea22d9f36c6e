"""Asks a server for its log from an offset, be it the server that the offset counts from or another one."""

from __future__ import annotations

import logging

from cdckit.errors import SourceError
from cdckit_mysql.binlog.connection import BinlogConnection, DumpOptions, DumpStart, FilePosition
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.connection import Connection, connect, connect_for_log, place, release, told
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server import Server, read_server
from cdckit_mysql.streaming.committed import CommittedLog
from cdckit_mysql.streaming.gtid_start import GtidStart
from cdckit_mysql.streaming.opened_log import OpenedLog

log = logging.getLogger("cdckit.mysql")

_HEARTBEATS = 3
"""A log connection is taken for dead after so many heartbeats that did not come."""


def on_server(offset: LogOffset, server: Server, where: str) -> LogOffset:
    """`offset` as it counts on `server`: after a failover files have other names, and the epoch begins anew.

    Raises:
        SourceError: it is another server, and there are no GTIDs to find the place by.
    """
    if offset.server == server.identity:
        return offset
    if offset.server is None:
        return offset.with_changes(server=server.identity)
    if offset.gtids is None or not server.gtids:
        raise SourceError(
            f"{where} is another server ({server.identity}) than the one that the offset {offset.position} counts "
            f"from ({offset.server}), and without GTIDs the place cannot be found there: connect to the former "
            "server, or start with a new state folder, which takes a new snapshot"
        )
    log.warning("%s is another server than before (%s): going on there by GTID", where, server.identity)
    return offset.with_changes(epoch=offset.epoch + 1, server=server.identity, file="", pos=0)


def require_log(config: MySqlConfig, start: LogOffset) -> None:
    """Makes sure that the server gives this user its log, before hours go into a snapshot.

    Raises:
        RetriableSourceError: the server cannot be reached now.
        SourceError: it refuses.
    """
    connection, _ = LogOpener(config, follow=False, by_file=True)(start)
    with connection:
        connection.packets(config.connect_timeout_ms / 1000)


class LogOpener:
    """Opens log connections for one source.

    Args:
        config: where and as whom.
        reader: 0 for the only reader; several at a time each need a number of their own.
        follow: whether the connection stays at the log's end.
        by_file: whether to ask by file and position where that is enough: reading then begins at just that place.
    """

    def __init__(self, config: MySqlConfig, *, reader: int = 0, follow: bool = True, by_file: bool = False) -> None:
        self._config = config
        self._server_id = config.database_server_id + reader * config.database_server_id_offset
        self._follow = follow
        self._by_file = by_file

    def __call__(self, start: LogOffset) -> tuple[OpenedLog, LogOffset]:
        """The log from `start`, and `start` itself as this server counts.

        Raises:
            RetriableSourceError: the server cannot be reached now.
            SourceError: it refuses, or is not one that can go on from there.
        """
        server, start, dump_start = self._found(start)
        options = DumpOptions(
            server_id=self._server_id,
            flavor="mariadb" if server.mariadb else "mysql",
            heartbeat_seconds=self._config.connect_keep_alive_interval_ms / 1000 / _HEARTBEATS,
            follow=self._follow,
        )
        connection = BinlogConnection.open(lambda: connect_for_log(self._config), dump_start, options)
        return CommittedLog(connection) if server.mariadb else connection, start

    def _found(self, start: LogOffset) -> tuple[Server, LogOffset, DumpStart]:
        """The server's facts, the offset as it counts, and where to begin there."""
        connection = connect(self._config)
        try:
            with told(self._config, "asking the server for its settings"):
                server = read_server(connection)
                start = on_server(start, server, place(self._config))
                return server, start, self._dump_start(start, server, connection)
        finally:
            release(connection)

    def _dump_start(self, start: LogOffset, server: Server, connection: Connection) -> DumpStart:
        """By GTID where that is known: it is right on every server of a topology, and in mid-transaction."""
        at_transaction = start.file and not start.event
        by_file = self._by_file or self._config.gtid_ignore_on_recovery
        if start.gtids is None or not server.gtids or (by_file and at_transaction):
            return FilePosition(start.file, start.pos)
        gtids = GtidStart(self._config)
        if server.mariadb:
            return gtids.mariadb(connection, MariaDbGtidSet.parse(start.gtids))
        return gtids.mysql(connection, GtidSet.parse(start.gtids))
