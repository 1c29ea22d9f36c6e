"""Whether the server has the log from an offset on, or of a range."""

from __future__ import annotations

from collections.abc import Sequence

import pymysql
from pymysql.constants import ER
from pymysql.cursors import DictCursor

from cdckit import RetriableSourceError
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet
from cdckit_mysql.offsets import LogOffset, file_number
from cdckit_mysql.options.capture import GtidOptions
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import Server, log_files, query
from cdckit_mysql.streaming.gtid_start import GtidStart, mysql_gtids
from cdckit_mysql.streaming.progress import covers

_FIRST_EVENT = 4
_APPLYING = ("Replica_SQL_Running", "Slave_SQL_Running")


def oldest_position(connection: Connection, server: Server) -> LogOffset:
    """The begin of the oldest log file that the server has."""
    oldest = next(iter(log_files(connection)))
    gtids = str(mysql_gtids(connection)[1]) if server.gtids and not server.mariadb else None
    return LogOffset(file=oldest, pos=_FIRST_EVENT, gtids=gtids, server=server.identity)


def why_lost(connection: Connection, server: Server, offset: LogOffset, options: GtidOptions) -> str | None:
    """Why the server cannot give the log from `offset` on, or None where it can as far as it tells.

    Raises:
        RetriableSourceError: it lacks what was read at another one, and still replicates.
    """
    if offset.gtids is not None and server.gtids and not server.mariadb:
        read, (executed, purged) = GtidSet.parse(offset.gtids), mysql_gtids(connection)
        gtids = GtidStart(options)
        if offset.server not in (None, server.identity):
            _wait_while_it_replicates(connection, gtids.lacking(read, executed))
        return gtids.why_lost(read, executed, purged)
    if offset.server not in (None, server.identity) or not offset.file:
        return None
    files = log_files(connection)
    if offset.file not in files:
        if server.mariadb and _goes_on(connection, offset, list(files)):
            return None
        return f"the server no longer has log file {offset.file} (its oldest is {next(iter(files), 'none')})"
    if offset.pos > files[offset.file]:
        return (
            f"log file {offset.file} ends at {files[offset.file]}, before {offset.pos}: "
            "the server has lost part of its log"
        )
    return None


def _goes_on(connection: Connection, offset: LogOffset, files: Sequence[str]) -> bool:
    """Whether MariaDB's oldest file begins behind the offset's, with nothing between them that was not read."""
    if offset.gtids is None or not files or file_number(files[0]) <= file_number(offset.file):
        return False
    [(text,)] = query(connection, "SELECT BINLOG_GTID_POS(%s, %s)", (files[0], _FIRST_EVENT))
    return text is not None and covers(MariaDbGtidSet.parse(offset.gtids), MariaDbGtidSet.parse(text))


def require_transactions(
    connection: Connection,
    server: Server,
    start: LogOffset,
    end: LogOffset | None,
    options: GtidOptions,
    *,
    shown: bool = False,
) -> None:
    """Makes sure that a server which is gone over to has what was read at another one, and what a range needs.

    MySQL's own check knows only the transactions that a server has numbered itself; MariaDB checks all, where its log
    is asked for.

    Args:
        connection: to the server.
        server: its facts.
        start: up to where was read.
        end: where a range ends; None where there is none.
        options: which sources count.
        shown: whether tables are read there, not the log.

    Raises:
        RetriableSourceError: it lacks some, and still replicates.
        PositionLostError: it lacks some for good.
    """
    if start.gtids is None:
        return
    if server.mariadb:
        if shown:
            _require_shown(connection, MariaDbGtidSet.parse(start.gtids))
        return
    executed, purged = mysql_gtids(connection)
    gtids, read = GtidStart(options), GtidSet.parse(start.gtids)
    due = gtids.due(read, GtidSet.parse((end and end.gtids) or ""))
    lacking = gtids.lacking(read | due, executed)
    _wait_while_it_replicates(connection, lacking)
    if lacking:
        raise PositionLostError(
            f"the server does not have transactions that were read or planned at another one ({lacking}), and it does "
            "not replicate: it has taken over from a server that died with them"
        )
    gone = due & purged
    if gone:
        raise PositionLostError(
            f"the server has purged transactions of the range up to {end and end.position} ({gone})"
        )


def require_begun(
    connection: Connection, server: Server, start: LogOffset, end: LogOffset, options: GtidOptions
) -> None:
    """Makes sure that a server has what lies before the end of a batch of which tables have a part from another one.

    Raises:
        RetriableSourceError: it lacks some, and still replicates.
        PositionLostError: it lacks some for good.
    """
    if not server.mariadb:
        require_transactions(connection, server, start, end, options)
        return
    wanted = GtidStart(options).counted(end.gtids or "", mariadb=True)
    [(text,)] = query(connection, "SELECT @@global.gtid_current_pos")
    if covers(MariaDbGtidSet.parse(text), wanted):
        return
    lacking = f"the server, at {text}, lacks transactions that were read at another one, up to {wanted}"
    if _replicates(connection):
        raise RetriableSourceError(f"{lacking}; it replicates, so that they may still come", number="CDC3103")
    raise PositionLostError(f"{lacking}: it has taken over from a server that died with them")


def _require_shown(connection: Connection, read: MariaDbGtidSet) -> None:
    [(text,)] = query(connection, "SELECT @@global.gtid_current_pos")
    if not MariaDbGtidSet.parse(text).issuperset(read):
        raise PositionLostError(f"the server, at {text}, does not have all that another one had ({read})")


def _wait_while_it_replicates(connection: Connection, lacking: GtidSet) -> None:
    if lacking and _replicates(connection):
        raise RetriableSourceError(
            f"the server lacks transactions that were read or planned at another one ({lacking}); it replicates, so "
            "that they may still come",
            number="CDC3103",
        )


def _replicates(connection: Connection) -> bool:
    """Whether a server applies what others have done; false where the user may not ask."""
    for word in ("REPLICA", "SLAVE"):  # the former since 8.0.22
        try:
            with connection.cursor(DictCursor) as cursor:
                cursor.execute(f"SHOW {word} STATUS")
                # MariaDB, asked with the one word, answers with the other
                return any("Yes" in (row.get(name) for name in _APPLYING) for row in cursor.fetchall())
        except pymysql.ProgrammingError:
            continue
        except pymysql.OperationalError as error:
            if error.args[0] != ER.SPECIFIC_ACCESS_DENIED_ERROR:
                raise
            return False
    return False
