"""Watermarks that write nothing: the transactions that the server has executed when a chunk has been read.

Whatever the log tells from the moment a chunk is asked for is newer than the chunk or as new, and the chunk holds
nothing newer than its second mark. So no first mark is needed: the window is open from the beginning.
"""

from __future__ import annotations

from cdckit.incremental import Watermarks
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet
from cdckit_mysql.incremental.server import SnapshotServer
from cdckit_mysql.server import query


class GtidMarks(Watermarks):
    """Goes by `gtid_executed` of MySQL, `gtid_binlog_pos` of MariaDB.

    Args:
        server: whose transactions.
    """

    opens_at_once = True

    def __init__(self, server: SnapshotServer) -> None:
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
