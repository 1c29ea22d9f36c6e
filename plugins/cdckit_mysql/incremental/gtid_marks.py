"""Watermarks that write nothing: the transactions that the server has executed when a chunk has been read.

Whatever the log tells from the moment a chunk is asked for is newer than the chunk or as new, and the chunk holds
nothing newer than its second mark. So no first mark is needed: the window is open from the beginning.
"""

from __future__ import annotations

import pymysql

from cdckit import SourceError
from cdckit.connector.incremental import Watermarks
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet
from cdckit_mysql.incremental.server import SnapshotServer
from cdckit_mysql.server.facts import query

_REPLICA = (
    ("SHOW REPLICA STATUS", "SELECT @@GLOBAL.replica_parallel_workers, @@GLOBAL.replica_preserve_commit_order"),
    ("SHOW SLAVE STATUS", "SELECT @@GLOBAL.slave_parallel_workers, 0"),
)
"""Whether MySQL is a replica, and how it applies transactions; as newer and older servers say it."""


class GtidMarks(Watermarks):
    """Goes by `gtid_executed` of MySQL, `gtid_binlog_pos` of MariaDB.

    Args:
        server: whose transactions.

    Raises:
        SourceError: the server's transactions do not tell what a chunk holds.
    """

    opens_at_once = True

    def __init__(self, server: SnapshotServer) -> None:
        _require_order(server)
        self._server = server
        self._high: str | None = None

    def low(self, window: str) -> None:
        """The window is open."""
        self._high = None

    def high(self, window: str) -> None:
        """Notes what the server has executed."""
        variable = "gtid_binlog_pos" if self._server.facts().mariadb else "gtid_executed"
        [(found,)] = query(self._server.connection(), f"SELECT @@GLOBAL.{variable}")
        self._high = "".join(str(found or "").split())

    def passed(self, read: str | None) -> bool:
        """Whether the log has been read up to the second mark, given the transactions that are completely read."""
        if self._high is None:
            return False
        if self._server.facts().mariadb:
            return MariaDbGtidSet.parse(read or "").issuperset(MariaDbGtidSet.parse(self._high))
        return GtidSet.parse(read or "").issuperset(GtidSet.parse(self._high))


def _require_order(server: SnapshotServer) -> None:
    facts = server.facts()
    if not facts.gtids:
        raise SourceError("read.only goes by GTIDs, which the server does not have: set gtid_mode=ON there")
    if facts.mariadb:
        return
    workers, in_order = _applying(server)
    if workers > 1 and not in_order:
        raise SourceError(
            f"read.only: the server is a replica that applies transactions with {workers} workers and out of order "
            "(replica_preserve_commit_order=OFF), so that its GTIDs do not tell which changes a chunk holds: set "
            "replica_preserve_commit_order=ON there, or write watermarks (signal.data.collection, read.only=false)"
        )


def _applying(server: SnapshotServer) -> tuple[int, bool]:
    """With how many workers a replica applies transactions, and whether in the order of the source; else (0, True)."""
    for status, variables in _REPLICA:
        try:
            if not query(server.connection(), status):
                return 0, True
            [(workers, in_order)] = query(server.connection(), variables)
        except (pymysql.ProgrammingError, pymysql.OperationalError):
            continue
        return int(workers), str(in_order) in ("1", "ON")
    return 0, True
