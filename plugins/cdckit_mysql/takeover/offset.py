"""Where a connector of Debezium stood, as an offset of this source."""

from __future__ import annotations

import logging

from pymysql.cursors import SSCursor

from cdckit import Offset, StateError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.asked_server import AskedServer
from cdckit_mysql.server.connection import Connection, driver_errors

log = logging.getLogger("cdckit.mysql")

_BEGINS = frozenset({"gtid", "anonymous_gtid", "gtid_tagged"})
"""The events that a transaction begins with, as MySQL names them."""


def offset_of_connector(offset: Offset, asked: AskedServer, config: MySqlConfig) -> LogOffset:
    """Where to go on.

    A connector that stood among the rows of an XA transaction tells its place by the end of a rows event, and how many
    of that event's rows it has sent: what follows is only found from the transaction's begin.

    Args:
        offset: the connector's.
        asked: the server.
        config: the source's options.

    Raises:
        StateError: the connector's snapshot was not finished, or the log does not have that place any more.
        SourceError: the server cannot be asked.
    """
    at = LogOffset.of_connector(offset)
    if at.snapshot_due:
        raise StateError(
            "the connector's snapshot was not finished: start without its offset, with a new snapshot", number="CDC7403"
        )
    if not at.row or at.event:
        return at
    _, connection = asked.ready()
    with driver_errors(config, f"looking for the transaction around {at.position}"):
        begin = _begin_of_transaction(connection, at)
    log.warning(
        "the connector stood among the rows of an XA transaction: all of them are told from its begin on, %s:%d",
        *(at.file, begin),
    )
    return at.with_changes(pos=begin, row=0, row_in_part=False)


def _begin_of_transaction(connection: Connection, at: LogOffset) -> int:
    """The position of the transaction whose event ends at an offset."""
    begin = None
    with connection.cursor(SSCursor) as cursor:
        cursor.execute("SHOW BINLOG EVENTS IN %s", (at.file,))
        for _file, pos, kind, _server, end, _info in cursor:
            if kind.lower() in _BEGINS:
                begin = int(pos)
            if end >= at.pos:
                break
    if begin is None:
        raise StateError(
            f"the connector's offset stands within a transaction whose begin is not in {at.file}", number="CDC7403"
        )
    return begin
