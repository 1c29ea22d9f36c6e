"""When a server purges its log: by the ages of the files, by what they may take together."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

from cdckit import CdcError, Retention
from cdckit_mysql.binlog.connection import BinlogConnection, DumpOptions, FilePosition
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.asked_server import AskedServer
from cdckit_mysql.server.connection import Connection, at_once, connect_for_log, driver_errors
from cdckit_mysql.server.facts import Server, log_end, log_files, query
from cdckit_mysql.streaming.planning import bytes_between
from cdckit_mysql.streaming.retention import why_lost

DAY = 86_400
SECONDS, DAYS = "binlog_expire_logs_seconds", "expire_logs_days"
_TOTALS = ("max_binlog_total_size", "binlog_space_limit")
"""MariaDB's and Percona's names of what all files may take together."""
_VARIABLES = (SECONDS, DAYS, "binlog_expire_logs_auto_purge", *_TOTALS)
_FIRST_EVENT = 4
_ROTATION = 19 + 8 + 4
"""What ends a file: an event's header, a position and a checksum, besides the next file's name."""
_PATIENCE = 5.0
_WEEK = 7 * DAY


@dataclass(frozen=True, slots=True)
class Expiry:
    """What a server's settings say.

    Attributes:
        option: the variable that says how old a file may be.
        seconds: how old that is; 0: as old as it likes.
        total: the variable that says how much all files may take; "" where there is none.
        size: how much that is, in bytes; 0: as much as they like.
    """

    option: str
    seconds: int
    total: str = ""
    size: int = 0


def read_expiry(connection: Connection) -> Expiry:
    """Asks the server."""
    names = ", ".join(f"'{name}'" for name in _VARIABLES)
    rows = query(connection, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
    known = {str(name).lower(): str(value) for name, value in rows}
    total = next((name for name in _TOTALS if int(known.get(name) or 0)), "")
    size = int(known[total]) if total else 0
    option = DAYS if SECONDS not in known else SECONDS
    if known.get("binlog_expire_logs_auto_purge", "ON").upper() == "OFF":
        return Expiry(option, 0)
    seconds = int(known.get(SECONDS) or 0) or round(float(known.get(DAYS) or 0) * DAY)
    return Expiry(option, seconds, total, size)


class Purging:
    """Forecasts for one server.

    A file is dropped once it was written to last for longer ago than the server's setting, which it looks at when it
    begins a new one; or once all of them are larger than they may be. A file that a connected reader is in stays, which
    is not counted on.

    Args:
        config: the source's options.
        asked: the server, over a connection that is there.
    """

    def __init__(self, config: MySqlConfig, asked: AskedServer) -> None:
        self._config = config
        self._asked = asked
        self._begun: dict[str, float | None] = {}
        self._last: tuple[float, dict[str, int]] | None = None

    def retention(self, at: LogOffset) -> Retention | None:
        """How long the log is kept from `at` on; None where the place is none of this server's log.

        Raises:
            SourceError: the server does not answer.
        """
        server, connection = self._asked.ready()
        if not at.file or at.server not in (None, server.identity):
            return None
        with driver_errors(self._config, "asking for the log files"), at_once(connection, self._config):
            files, expiry, end = log_files(connection), read_expiry(connection), log_end(connection, server)
            lost = None if at.file in files else why_lost(connection, server, at, self._config)
        file = _needed(at, files)
        lag_bytes = max(0, bytes_between(files, at, end))
        written = self._written(files, server)
        if lost is None:
            purged_in, because, remedy = self._purge(file, files, expiry, server, written)
        else:
            purged_in, because, remedy = 0.0, lost, "cdc offsets reset FILE takes a new snapshot"
        return Retention(
            oldest_needed=file,
            purged_in=purged_in,
            because=because,
            remedy=remedy,
            lag_bytes=lag_bytes,
            lag_seconds=0.0 if not lag_bytes else max(0.0, time.time() - at.ts_sec) if at.ts_sec else None,
            written=written,
        )

    def _purge(
        self, file: str, files: dict[str, int], expiry: Expiry, server: Server, written: float | None
    ) -> tuple[float | None, str, str]:
        """In how many seconds the file may go, by which setting, and what has it stay."""
        found: list[tuple[float, str, str]] = []
        if expiry.seconds:
            left = max(0.0, self._last_written(file, files, server) + expiry.seconds - time.time())
            age = str(expiry.seconds) if expiry.option == SECONDS else f"{expiry.seconds / DAY:g}"
            because = f"{expiry.option} = {age}"
            found.append((left, because, _longer(expiry, server)))
        if expiry.size and written:
            room = expiry.size - sum(size for name, size in files.items() if name >= file)
            remedy = f"SET GLOBAL {expiry.total} = {2 * expiry.size}, also in the configuration"
            found.append((max(0.0, room / written), f"{expiry.total} = {expiry.size}", remedy))
        return min(found, default=(None, "", ""))

    def _last_written(self, file: str, files: dict[str, int], server: Server) -> float:
        """When the file was written to last: when the next one was begun; the newest is written to now."""
        later = next((name for name in files if name > file), None)
        if later is None:
            return time.time()
        begun = self._begin_of(later, server)
        return time.time() if begun is None else begun

    def _begin_of(self, file: str, server: Server) -> float | None:
        """When a file was begun, as its first event says; asked for once, over a connection of its own."""
        if file not in self._begun:
            self._begun = {file: self._asked_begin(file, server)}
        return self._begun[file]

    def _asked_begin(self, file: str, server: Server) -> float | None:
        config = self._config
        number = config.database_server_id + config.database_server_id_offset - 1  # the last of this pipeline's own
        options = DumpOptions(number, "mariadb" if server.mariadb else "mysql", follow=False)
        try:
            with BinlogConnection.open(
                lambda: connect_for_log(config), FilePosition(file, _FIRST_EVENT), options
            ) as connection:
                for data, start, _ in connection.packets(_PATIENCE):
                    if (seconds := struct.unpack_from("<I", data, start)[0]) > 0:
                        return float(seconds)
        except CdcError:
            return None
        return None

    def _written(self, files: dict[str, int], server: Server) -> float | None:
        """How many bytes a second were written since the last look; at the first one by the files' ages."""
        moment, last = time.monotonic(), self._last
        if last is None:
            self._last = (moment, files)
            return self._written_so_far(files, server)
        if moment - last[0] < 1:
            return None
        newest = max(last[1])
        grown = sum(size - (last[1].get(name, 0)) for name, size in files.items() if name >= newest)
        self._last = (moment, files)
        return grown / (moment - last[0])

    def _written_so_far(self, files: dict[str, int], server: Server) -> float | None:
        begun = self._asked_begin(next(iter(files)), server) if files else None
        return None if begun is None else sum(files.values()) / max(1.0, time.time() - begun)


def _needed(at: LogOffset, files: dict[str, int]) -> str:
    """The file that is read next: the one behind the place's own where that is read to its end, or is gone unneeded."""
    names = [name for name in files if name >= at.file]
    if len(names) > 1 and names[0] == at.file and files[at.file] - at.pos <= _ROTATION + len(names[1]):
        return names[1]
    return at.file if at.file in files else next(iter(names), at.file)


def _longer(expiry: Expiry, server: Server) -> str:
    """The command that has files kept for longer: for a week, or twice as long as now."""
    seconds = max(_WEEK, 2 * expiry.seconds)
    if expiry.option == DAYS:
        return f"SET GLOBAL {DAYS} = {seconds // DAY}, also in the configuration"
    if server.mariadb:
        return f"SET GLOBAL {SECONDS} = {seconds}, also in the configuration"
    return f"SET PERSIST {SECONDS} = {seconds}"
