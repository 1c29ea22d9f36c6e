"""Whether a server's log is still the one that was read: RESET begins another, whose files have the same names.

Positions and GTIDs of the new log count from the beginning again, so that neither tells. When each file was begun does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cdckit import RetriableSourceError, StateStore
from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.connection import BinlogConnection, DumpOptions, FilePosition
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.binlog.place import HEADER
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.offsets import LogOffset, file_number
from cdckit_mysql.server.connection import connect_for_log
from cdckit_mysql.server.facts import Server

_KEPT = "log_files"
_FIRST_EVENT = 4


class LogBeginnings:
    """What the state knows of when files of the log were begun.

    Args:
        config: where and as whom to ask.
        state: where it is kept.
    """

    def __init__(self, config: MySqlConfig, state: StateStore) -> None:
        self._config = config
        self._state = state

    def forget(self) -> None:
        """Another log is read from now on."""
        self._state.put(_KEPT, None)

    def why_other(self, server: Server, at: LogOffset, files: Callable[[], Iterable[str]]) -> str | None:
        """Why the server's log is not the one that was read up to `at`, or None where it is, which is then kept.

        Args:
            server: whose log it is.
            at: how far it was read.
            files: asks for those that the server has, the oldest first.

        Raises:
            SourceError: the server does not give its log.
            RetriableSourceError: it lists files, and does not find them.
        """
        try:
            return self._compared(server, at, list(files()))
        except PositionLostError:  # it may have been purged since it was listed, which is no loss by itself
            names = list(files())
        try:
            return self._compared(server, at, names)
        except PositionLostError as error:
            raise RetriableSourceError(f"the server lists log files that it does not find: {error}") from error

    def _compared(self, server: Server, at: LogOffset, names: list[str]) -> str | None:
        kept = self._state.get(_KEPT) or {}
        known: dict[str, int] = kept.get("begun", {}) if kept.get("server") == server.identity else {}
        if known and names and file_number(names[-1]) < file_number(at.file):
            return f"the newest log file is {names[-1]}, and {at.file} was read already: {_RESET}"
        found = {name: self._begun(server, name) for name in names if name in known}
        for name, begun in found.items():
            if begun != known[name]:
                # A file of the same name with another birth: RESET counts files from 1 again.
                return f"log file {name} is another one than that which was read: {_RESET}"
        for name in {at.file, *names[-1:]} & set(names):
            if name not in found:
                found[name] = self._begun(server, name)
        if found != known:
            self._state.put(_KEPT, {"server": server.identity, "begun": found})
        return None

    def _begun(self, server: Server, file: str) -> int:
        """When a file was begun, in seconds since 1970."""
        options = DumpOptions(self._config.database_server_id, "mariadb" if server.mariadb else "mysql", follow=False)
        start = FilePosition(file, _FIRST_EVENT)
        with BinlogConnection.open(lambda: connect_for_log(self._config), start, options) as connection:
            while not connection.ended:
                for buffer, at, _ in connection.packets(self._config.connect_timeout_ms / 1000):
                    timestamp, code, *_ = HEADER.unpack_from(buffer, at)
                    if code == event_types.FORMAT_DESCRIPTION:
                        return int(timestamp)
        return 0


_RESET = "the server's log was begun anew (RESET) while nobody read it, and what was not read before is gone"
