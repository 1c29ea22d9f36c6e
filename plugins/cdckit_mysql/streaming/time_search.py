"""Finds a time in a server's log: which transaction was committed then, or first after it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from cdckit import SourceError
from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.connection import BinlogConnection, DumpOptions, FilePosition
from cdckit_mysql.binlog.events import Gtid
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.place import HEADER, HeaderScan
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.offsets import LogOffset, file_number
from cdckit_mysql.server.connection import connect_for_log, place

_FIRST_EVENT = 4


class TimeSearch:
    """Looks at the beginnings of some files, and then over the headers of one.

    Args:
        config: where and as whom to ask.
        server: the identity of the server.
        files: the names of its log's files, the oldest first.
        mariadb: whose log it is.
    """

    def __init__(self, config: MySqlConfig, server: str, files: Sequence[str], *, mariadb: bool) -> None:
        self._config = config
        self._server = server
        self._files = files
        self._options = DumpOptions(config.database_server_id, "mariadb" if mariadb else "mysql", follow=False)

    def before(self, time_ms: int) -> LogOffset | None:
        """The place before the first transaction that was committed at a time or later; None where there is none.

        Raises:
            SourceError: older files are gone, and changes of before the oldest one may be meant.
        """
        # A file's head tells to the second when it was begun: what the one before ends with may be of that second, too.
        behind = bisect_right(self._files, time_ms - 1000, key=self._begun_ms)
        if behind == 0 and file_number(self._files[0]) > 1:
            raise SourceError(
                f"{place(self._config)}: the log does not reach back to that time: its oldest file, {self._files[0]}, "
                "was begun later, and those before it are purged",
                number="CDC3101",
            )
        file = self._files[max(0, behind - 1)]
        scan = HeaderScan(_FIRST_EVENT)
        with self._opened(file) as log:
            for span in _spans(log, self._config.connect_timeout_ms / 1000):
                code, start, _, begins = scan.scan(span[0], span[1])
                if begins and _committed_ms(log, span) >= time_ms:
                    return LogOffset(file=log.parser.file, pos=start, server=self._server, ts_sec=time_ms // 1000)
                if code == event_types.ROTATE:
                    log.parser.event(*span)
        return None

    def _begun_ms(self, file: str) -> int:
        with self._opened(file) as log:
            for buffer, at, _ in _spans(log, self._config.connect_timeout_ms / 1000):
                timestamp, code, *_ = HEADER.unpack_from(buffer, at)
                if code == event_types.FORMAT_DESCRIPTION:
                    return int(timestamp) * 1000
        return 0

    def _opened(self, file: str) -> BinlogConnection:
        return BinlogConnection.open(
            lambda: connect_for_log(self._config), FilePosition(file, _FIRST_EVENT), self._options
        )


def _spans(log: BinlogConnection, patience: float) -> Iterator[Span]:
    while not log.ended:
        yield from log.packets(patience)


def _committed_ms(log: BinlogConnection, span: Span) -> int:
    """When a transaction was committed, as its rows tell it."""
    event = log.parser.event(*span)
    told = event.commit_timestamp_us if isinstance(event, Gtid) else None
    timestamp, *_ = HEADER.unpack_from(span[0], span[1])
    return int(timestamp) * 1000 if told is None else told // 1000
