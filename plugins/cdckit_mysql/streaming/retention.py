"""Whether the server still has the log from an offset on."""

from __future__ import annotations

from cdckit_mysql.binlog.gtid import GtidSet
from cdckit_mysql.connection import Connection
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.options.gtids import GtidOptions
from cdckit_mysql.server import Server, log_files
from cdckit_mysql.streaming.gtid_start import GtidStart, mysql_gtids

_FIRST_EVENT = 4


def oldest_position(connection: Connection, server: Server) -> LogOffset:
    """The begin of the oldest log file that the server has."""
    oldest = next(iter(log_files(connection)))
    gtids = str(mysql_gtids(connection)[1]) if server.gtids and not server.mariadb else None
    return LogOffset(file=oldest, pos=_FIRST_EVENT, gtids=gtids, server=server.identity)


def why_lost(connection: Connection, server: Server, offset: LogOffset, options: GtidOptions) -> str | None:
    """Why the server cannot give the log from `offset` on, or None where it can as far as it tells."""
    if offset.gtids is not None and server.gtids and not server.mariadb:
        return GtidStart(options).why_lost(GtidSet.parse(offset.gtids), *mysql_gtids(connection))
    if offset.server not in (None, server.identity):
        return None
    files = log_files(connection)
    if offset.file not in files:
        return f"the server no longer has log file {offset.file} (its oldest is {next(iter(files), 'none')})"
    if offset.pos > files[offset.file]:
        return (
            f"log file {offset.file} ends at {files[offset.file]}, before {offset.pos}: "
            "the server has lost part of its log"
        )
    return None
