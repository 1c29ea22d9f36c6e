"""The signal `set-binlog-position`: where in the log to go on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdckit import RetriableSourceError
from cdckit.connector.signals import Signal
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.binlog.events import Gtid, MariaDbGtid
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.incremental.server import SnapshotServer
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.facts import log_files, query
from cdckit_mysql.streaming.opening import LogOpener

_GTID = re.compile(r"GTID(?:_NEXT=)? ?'?(?P<gtid>[0-9A-Fa-f]{8}-[-0-9A-Fa-f:a-z_0-9]+|\d+-\d+-\d+)'?")
_FIRST_EVENT = 4
_EVENTS = 5000
"""So many events of a log file are listed at a time."""
_SECOND_READER = 1
"""The number of a log connection that is opened while the first one stands."""
_PATIENCE = 10.0
"""How many seconds the server may be silent within a log that it has."""
_MOST_DIGITS = 18


def wanted_offset(signal: Signal, config: MySqlConfig, server: SnapshotServer, at: LogOffset) -> LogOffset:
    """The offset that the signal asks for.

    Args:
        signal: with `binlog_filename` and `binlog_position`, or `gtid_set`.
        config: the source's options.
        server: whose log it is.
        at: where the log is read now.

    Raises:
        ValueError: the signal names no place, or one that the server's log does not have.
        RetriableSourceError: the server cannot be reached now.
    """
    gtids = signal.data.get("gtid_set")
    file, pos = signal.data.get("binlog_filename"), signal.data.get("binlog_position")
    here = LogOffset(epoch=at.epoch, server=at.server, ts_sec=at.ts_sec)
    if gtids is not None and file is None and pos is None:
        done = _parsed(str(gtids), mariadb=server.facts().mariadb)
        return _behind_gtids(config, server, here.with_changes(gtids=str(done)))
    if gtids is not None or not isinstance(file, str) or not isinstance(pos, int):
        raise ValueError("set-binlog-position needs binlog_filename and binlog_position, or gtid_set")
    files = log_files(server.connection())
    if file not in files or not _FIRST_EVENT <= pos <= files[file]:
        raise ValueError(f"the server's log has no {file}:{pos}; it reaches from {next(iter(files))} to {max(files)}")
    found = None if at.gtids is None else _gtids_before(server, file, pos)
    return here.with_changes(file=file, pos=pos, gtids=found)


def _behind_gtids(config: MySqlConfig, server: SnapshotServer, asked: LogOffset) -> LogOffset:
    """Where the first transaction begins that the offset's GTIDs lack, as the server finds it; the log's end if none.

    Raises:
        ValueError: the server does not have it any more.
        RetriableSourceError: the connection was lost.
    """
    end = server.log_end()
    try:
        connection, _ = LogOpener(config, reader=_SECOND_READER, follow=False)(asked)
        with connection:
            while not connection.ended:
                spans = connection.packets(_PATIENCE)
                for event in connection.parser.events(spans):
                    if isinstance(event, Gtid | MariaDbGtid):
                        return asked.with_changes(file=connection.parser.file, pos=event.start)
                if not spans and not connection.ended:
                    raise RetriableSourceError(f"the server is silent; it was asked for the log behind {asked.gtids}")
    except PositionLostError as error:
        raise ValueError(str(error)) from error
    return asked.with_changes(file=end.file, pos=end.pos)


def _gtids_before(server: SnapshotServer, file: str, pos: int) -> str:
    """The transactions that the log holds, or has held, before a place."""
    if server.facts().mariadb:
        return str(query(server.connection(), "SELECT BINLOG_GTID_POS(%s, %s)", (file, pos))[0][0] or "")
    done = _previous(server, file)
    for start, gtid in _transactions(server, file, pos):
        if start < pos:
            done = done | GtidSet.parse(gtid)
    return str(done)


def _previous(server: SnapshotServer, file: str) -> GtidSet:
    """What stands at the beginning of a file of MySQL's."""
    for row in query(server.connection(), "SHOW BINLOG EVENTS IN %s LIMIT 3", (file,)):
        if row[2] == "Previous_gtids":
            return GtidSet.parse(str(row[5]))
    return GtidSet()


def _transactions(server: SnapshotServer, file: str, until: int) -> Iterator[tuple[int, str]]:
    """Where each transaction of a log file begins, up to a place, and its GTID."""
    at = _FIRST_EVENT
    while at < until:
        rows = query(server.connection(), "SHOW BINLOG EVENTS IN %s FROM %s LIMIT %s", (file, at, _EVENTS))
        for row in rows:
            if row[2] in ("Gtid", "Gtid_tagged") and (match := _GTID.search(str(row[5]))):
                yield int(row[1]), match["gtid"]
        if len(rows) < _EVENTS:
            return
        at = int(rows[-1][4])


def _parsed(text: str, *, mariadb: bool) -> GtidSet | MariaDbGtidSet:
    if any(len(number) > _MOST_DIGITS for number in re.findall(r"\d+", text)):
        raise ValueError(f"gtid_set: a number of more than {_MOST_DIGITS} digits stands in it")
    try:
        return MariaDbGtidSet.parse(text) if mariadb else GtidSet.parse(text)
    except ValueError as error:
        raise ValueError(f"gtid_set: {error}") from error
