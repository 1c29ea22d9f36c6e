"""Asks a server for its log from an offset, be it the server that the offset counts from or another one."""

from __future__ import annotations

import logging

from cdckit import RetriableSourceError, SourceError
from cdckit_mysql.binlog.connection import FAR, BinlogConnection, DumpOptions, DumpStart, FilePosition
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.offsets import LogOffset, file_number
from cdckit_mysql.server.connection import Connection, at_once, connect, connect_for_log, driver_errors, place, release
from cdckit_mysql.server.facts import Server, log_end, log_files, read_server
from cdckit_mysql.streaming.begun_batches import NO_ENDS, Ends, behind_all, transactions_of
from cdckit_mysql.streaming.gtid_start import GtidStart
from cdckit_mysql.streaming.opened_log import OpenedLog
from cdckit_mysql.streaming.retention import require_begun, require_transactions
from cdckit_mysql.streaming.rollback_filter import CommittedLog
from cdckit_mysql.streaming.transaction_range import TransactionRange

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
            "server, or start with a new state folder, which takes a new snapshot",
            number="CDC3102",
        )
    log.warning("%s is another server than before (%s): going on there by GTID", where, server.identity)
    return offset.moved_to(server.identity)


def require_same_log(offset: LogOffset, end: LogOffset, where: str) -> None:
    """Makes sure that a server's log, which ends at `end`, was not begun anew while it was read.

    Raises:
        PositionLostError: it was, by RESET or since the server was made anew: places in it are those of other changes.
    """
    if offset.by_gtid or None in (offset.gtids, end.gtids) or offset.server != end.server:
        return
    if (file_number(end.file), end.pos) < (file_number(offset.file), offset.pos):
        raise PositionLostError(
            f"{where}: the log ends at {end.position}, and {offset.position} was read already: it was begun anew "
            "(RESET), or the server was made anew with the server_uuid of before"
        )


def require_point(connection: Connection, config: MySqlConfig, point: LogOffset) -> None:
    """Makes sure that tables which are read through a connection show at least what was there at a point of the log.

    Raises:
        RetriableSourceError: it is another server than the point's, and has not come so far yet.
        PositionLostError: it never will.
        SourceError: without GTIDs that cannot be told.
    """
    with driver_errors(config, "asking the server for its settings"):
        server = read_server(connection)
        moved = on_server(point, server, place(config))
        if point.server not in (None, server.identity):
            require_transactions(connection, server, moved, None, config, shown=True)


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
        attempt: tells apart attempts at the same reading, which may overlap.
        follow: whether the connection stays at the log's end.
        by_file: whether to ask by file and position where that is enough: reading then begins at just that place.
        only: the identity of the only server that will do; None: any of the topology.
        whole: whether MariaDB's transactions are given when they are whole, without what was rolled back in them; else
            the log is as it stands.
        ends: where batches end of which a sink has a part: a server must have what lies before them.
    """

    def __init__(
        self,
        config: MySqlConfig,
        *,
        reader: int = 0,
        attempt: int = 0,
        follow: bool = True,
        by_file: bool = False,
        only: str | None = None,
        whole: bool = True,
        ends: Ends = NO_ENDS,
    ) -> None:
        self._config = config
        self._ends = ends
        self._server_id = server_id(config, reader, attempt)
        self._follow = follow
        self._by_file = by_file
        self._only = only
        self._whole = whole

    def __call__(self, start: LogOffset, end: LogOffset | None = None) -> tuple[OpenedLog, LogOffset]:
        """The log from `start`, and `start` itself as this server counts; see `OpenLog`."""
        server, start, dump_start = self._found(start, end)
        options = DumpOptions(
            server_id=self._server_id,
            flavor="mariadb" if server.mariadb else "mysql",
            heartbeat_seconds=self._config.connect_keep_alive_interval_ms / 1000 / _HEARTBEATS,
            follow=self._follow,
        )
        connection = BinlogConnection.open(lambda: connect_for_log(self._config), dump_start, options)
        opened: OpenedLog = CommittedLog(connection) if server.mariadb and self._whole else connection
        if end is not None and _elsewhere(end, server):
            gtids = GtidStart(self._config)
            wanted = gtids.transactions(start.gtids or "", end.gtids or "", mariadb=server.mariadb)
            opened = TransactionRange(opened, wanted)
        return opened, start

    def _found(self, start: LogOffset, end: LogOffset | None) -> tuple[Server, LogOffset, DumpStart]:
        """The server's facts, the offset as it counts, and where to begin there."""
        connection = connect(self._config)
        try:
            with driver_errors(self._config, "asking the server for its settings"), at_once(connection, self._config):
                server = read_server(connection)
                where = place(self._config)
                if self._only not in (None, server.identity):
                    raise RetriableSourceError(
                        f"{where} is another server ({server.identity}) than the one that is being read "
                        f"({self._only}): what was planned there is planned anew"
                    )
                known = start
                start = on_server(start, server, where)
                if server.gtids and not server.mariadb:
                    require_same_log(start, log_end(connection, server), where)
                if end is not None and _elsewhere(end, server):
                    _require_gtids(end, server, where)
                # The dump command would not say that another server lacks what was read, or what lies before an end
                # that was planned elsewhere: MySQL looks only at the transactions that a server has numbered itself.
                due = end if end is not None and end.file and _elsewhere(end, server) else None
                if due is not None or known.server not in (None, server.identity):
                    require_transactions(connection, server, start, due, self._config)
                for part in (*self._ends.values(), *([] if known.told is None else [known])):
                    if part.gtids is not None and part.server not in (None, server.identity):
                        whole = part.with_changes(gtids=transactions_of(part))
                        require_begun(connection, server, start, whole, self._config)
                start = behind_all(start, self._ends)
                if not start.file:
                    # Up to its end of now this log may hold, between others, what was read at the server before.
                    start = start.with_changes(by_gtid_until=str(log_end(connection, server).position))
                return server, start, self._dump_start(start, end, server, connection)
        finally:
            release(connection)

    def _dump_start(self, start: LogOffset, end: LogOffset | None, server: Server, connection: Connection) -> DumpStart:
        """By GTID where that is known: it is right on every server of a topology, and in mid-transaction."""
        # An offset in mid-transaction stands at MySQL's BEGIN, as Debezium's does, and the identifier stands before
        # that: by file and position the transaction would come without it.
        at_transaction = not start.by_gtid and not start.event
        reached = start.pos < FAR or not server.mariadb
        if start.gtids is None or not server.gtids:
            return FilePosition(start.file, start.pos)
        if at_transaction and reached and self._asks_by_file(start, connection):
            return FilePosition(start.file, start.pos)
        gtids = GtidStart(self._config)
        elsewhere = end is not None and _elsewhere(end, server)
        if server.mariadb:
            read = MariaDbGtidSet.parse(start.gtids)
            return gtids.mariadb(connection, read)
        read_set = GtidSet.parse(start.gtids)
        return gtids.mysql(connection, read_set, purged_too=elsewhere)

    def _asks_by_file(self, start: LogOffset, connection: Connection) -> bool:
        """A file that is gone may have held nothing behind the offset: the GTIDs tell whether the log goes on."""
        if self._config.gtid_ignore_on_recovery:
            return True
        return self._by_file and start.file in log_files(connection)


def server_id(config: MySqlConfig, reader: int, attempt: int) -> int:
    """The number to pretend to be a replica with.

    Attempts at the same reading may overlap, and a server hangs up on the older of two replicas with one number. Their
    numbers lie half an offset further on, where no other pipeline's are, though pipelines be numbered one by one.
    """
    first = config.database_server_id + reader * config.database_server_id_offset
    half = max(1, config.database_server_id_offset // 2)
    return first + half + (attempt - 1) % half if attempt else first


def _elsewhere(end: LogOffset, server: Server) -> bool:
    """Whether an end is no place in a server's log."""
    return not end.file or end.server not in (None, server.identity)


def _require_gtids(end: LogOffset, server: Server, where: str) -> None:
    if end.gtids is None or not server.gtids:
        raise SourceError(
            f"{where} is another server ({server.identity}) than the one at which the range up to {end.position} was "
            f"planned ({end.server}), and without GTIDs its end cannot be found there: connect to the former server, "
            "or start with a new state folder, which takes a new snapshot",
            number="CDC3102",
        )
