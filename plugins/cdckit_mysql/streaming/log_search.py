"""Finds places in a server's log by what is known of them: when a transaction was committed, or where an event ends."""

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


class LogSearch:
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
            raise self._purged("that time", "was begun later")
        with self._opened(self._files[max(0, behind - 1)]) as log:
            for span, start in self._transactions(log):
                if _committed_ms(log, span) >= time_ms:
                    return self._at(log.parser.file, start, time_ms)
        return None

    def around(self, number: int, pos: int) -> tuple[LogOffset, LogOffset | None]:
        """The begin of the transaction whose event ends at a place of a file, and that of the next one, if any.

        Raises:
            SourceError: there is no such file.
        """
        file = next((name for name in self._files if file_number(name) == number), None)
        if file is None:
            raise self._purged(f"file number {number}", f"and the newest, {self._files[-1]}, are those that there are")
        begin = self._at(file, _FIRST_EVENT)
        with self._opened(file) as log:
            for _, start in self._transactions(log):
                here = self._at(log.parser.file, start)
                if log.parser.file != file or start >= pos:
                    return begin, here
                begin = here
        return begin, None

    def _transactions(self, log: BinlogConnection) -> Iterator[tuple[Span, int]]:
        """The first event of each transaction, and where it begins."""
        scan = HeaderScan(_FIRST_EVENT)
        for span in self._spans(log):
            code, start, _, begins = scan.scan(span[0], span[1])
            if begins:
                yield span, start
            elif code in (event_types.ROTATE, event_types.FORMAT_DESCRIPTION):
                log.parser.event(*span)

    def _at(self, file: str, pos: int, time_ms: int = 0) -> LogOffset:
        return LogOffset(file=file, pos=pos, server=self._server, ts_sec=time_ms // 1000)

    def _purged(self, what: str, why: str) -> SourceError:
        return SourceError(
            f"{place(self._config)}: the log does not reach back to {what}: its oldest file, {self._files[0]}, {why}; "
            "those before it are purged",
            number="CDC3101",
        )

    def _begun_ms(self, file: str) -> int:
        with self._opened(file) as log:
            for buffer, at, _ in self._spans(log):
                timestamp, code, *_ = HEADER.unpack_from(buffer, at)
                if code == event_types.FORMAT_DESCRIPTION:
                    return int(timestamp) * 1000
        return 0

    def _opened(self, file: str) -> BinlogConnection:
        return BinlogConnection.open(
            lambda: connect_for_log(self._config), FilePosition(file, _FIRST_EVENT), self._options
        )

    def _spans(self, log: BinlogConnection) -> Iterator[Span]:
        while not log.ended:
            yield from log.packets(self._config.connect_timeout_ms / 1000)


def _committed_ms(log: BinlogConnection, span: Span) -> int:
    """When a transaction was committed, as its rows tell it."""
    event = log.parser.event(*span)
    told = event.commit_timestamp_us if isinstance(event, Gtid) else None
    timestamp, *_ = HEADER.unpack_from(span[0], span[1])
    return int(timestamp) * 1000 if told is None else told // 1000
