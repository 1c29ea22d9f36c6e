"""The signal `set-binlog-position`: where in the log to go on."""

from __future__ import annotations

import re
from typing import Any

from cdckit.signals import Signal
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet
from cdckit_mysql.incremental.server import SnapshotServer
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server import log_files, query

_GTID = re.compile(r"GTID(?:_NEXT=)? ?'?(?P<gtid>[0-9A-Fa-f]{8}-[-0-9A-Fa-f:a-z_0-9]+|\d+-\d+-\d+)'?")
_FIRST_EVENT = 4


def wanted_offset(signal: Signal, server: SnapshotServer, at: LogOffset) -> LogOffset:
    """The offset that the signal asks for.

    Args:
        signal: with `binlog_filename` and `binlog_position`, or `gtid_set`.
        server: whose log it is.
        at: where the log is read now.

    Raises:
        ValueError: the signal names no place, or one that the server's log does not have.
    """
    gtids = signal.data.get("gtid_set")
    file, pos = signal.data.get("binlog_filename"), signal.data.get("binlog_position")
    here = LogOffset(epoch=at.epoch, server=at.server, ts_sec=at.ts_sec)
    files = log_files(server.connection())
    if gtids is not None and file is None and pos is None:
        return _behind_gtids(server, files, str(gtids), here)
    if gtids is not None or not isinstance(file, str) or not isinstance(pos, int):
        raise ValueError("set-binlog-position needs binlog_filename and binlog_position, or gtid_set")
    if file not in files or not _FIRST_EVENT <= pos <= files[file]:
        raise ValueError(f"the server's log has no {file}:{pos}; it reaches from {next(iter(files))} to {max(files)}")
    found = None if at.gtids is None else _gtids_before(server, file, pos)
    return here.with_changes(file=file, pos=pos, gtids=found)


def _behind_gtids(server: SnapshotServer, files: dict[str, int], text: str, here: LogOffset) -> LogOffset:
    """The first transaction of the log that is not in the set."""
    done = _parsed(text, mariadb=server.facts().mariadb)
    last, end = "", 0
    for file, size in files.items():
        for pos, gtid in _transactions(server, file):
            if not _contains(done, gtid):
                return here.with_changes(file=file, pos=pos, gtids=str(done))
        last, end = file, size
    return here.with_changes(file=last, pos=end, gtids=str(done))


def _gtids_before(server: SnapshotServer, file: str, pos: int) -> str:
    """The transactions that the log holds, or has held, before a place."""
    if server.facts().mariadb:
        return str(query(server.connection(), "SELECT BINLOG_GTID_POS(%s, %s)", (file, pos))[0][0] or "")
    done = _previous(server, file)
    for start, gtid in _transactions(server, file):
        if start < pos:
            done = done | GtidSet.parse(gtid)
    return str(done)


def _previous(server: SnapshotServer, file: str) -> GtidSet:
    """What stands at the beginning of a file of MySQL's."""
    for row in query(server.connection(), "SHOW BINLOG EVENTS IN %s LIMIT 3", (file,)):
        if row[2] == "Previous_gtids":
            return GtidSet.parse(str(row[5]))
    return GtidSet()


def _transactions(server: SnapshotServer, file: str) -> list[tuple[int, str]]:
    """Where each transaction of a log file begins, and its GTID."""
    return [
        (int(row[1]), match["gtid"])
        for row in query(server.connection(), "SHOW BINLOG EVENTS IN %s", (file,))
        if row[2] in ("Gtid", "Gtid_tagged") and (match := _GTID.search(str(row[5])))
    ]


def _parsed(text: str, *, mariadb: bool) -> GtidSet | MariaDbGtidSet:
    try:
        return MariaDbGtidSet.parse(text) if mariadb else GtidSet.parse(text)
    except ValueError as error:
        raise ValueError(f"gtid_set: {error}") from error


def _contains(done: Any, gtid: str) -> bool:
    if isinstance(done, MariaDbGtidSet):
        domain, _, sequence = map(int, gtid.split("-"))
        return done.contains(domain, sequence)
    found: bool = done.issuperset(GtidSet.parse(gtid))
    return found
