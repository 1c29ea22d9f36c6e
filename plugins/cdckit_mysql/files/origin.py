"""The log in files that were copied from a server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

from cdckit import CdcError, ConfigError, DecodeError, Finding, Retention, SnapshotMode, Split, Unmatched
from cdckit_mysql.binlog.errors import LogEndedError
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.files.definitions import FileDefinitions, dialect_of
from cdckit_mysql.files.log import FileLog, LogFiles
from cdckit_mysql.files.no_snapshots import NoSnapshots
from cdckit_mysql.files.reading import LogFileReader
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset, LogPosition
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.schema_history.renewal import HistoryRenewal
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.gtid_start import GtidStart
from cdckit_mysql.streaming.opened_log import OpenedLog, OpenLog
from cdckit_mysql.streaming.progress import is_beyond
from cdckit_mysql.streaming.rollback_filter import CommittedLog
from cdckit_mysql.streaming.transaction_range import TransactionRange
from cdckit_mysql.table import Table, Tables

log = logging.getLogger("cdckit.mysql")

_PLACES = 16
"""So many offsets are known to be places in the files, or none."""


class FilesOrigin:
    """See `LogOrigin`. Files are looked for whenever something is asked, and nothing is held in between.

    Args:
        config: the source's options.
    """

    archived = True
    farthest = 1 << 63
    definitions: type[Definitions] = FileDefinitions
    lower_case_table_names = 0

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._places: dict[tuple[LogPosition, bool], bool] = {}
        self._moved_from: set[str | None] = set()

    def check(self) -> Sequence[Finding]:
        """Whether the files can be read."""
        try:
            files = self._files()
            start, end = files.start(), files.end(LogOffset())
        except CdcError as error:
            return [Finding.of("binlog.files", error)]
        found = f"{len(files.files)} files, read from {start.position} to {end.position}"
        return [Finding("binlog.files", "ok", found)]

    @cached_property
    def dialect(self) -> Dialect:
        """What the first file tells of its server."""
        with LogFileReader(self._files().files[0]) as reader:
            parser = EventParser(reader.file.name)
            for _ in parser.events([(reader.description, 0, len(reader.description))]):
                pass
        return dialect_of(parser.server_version)

    def begin(self, history: SchemaHistory) -> LogOffset:
        """`binlog.files.start`, or the begin of the first file."""
        start = self._files().start()
        if not history.reaches(start.position):
            history.start(start.position, Tables(lower_case_table_names=self.lower_case_table_names))
        log.info("the files are read from %s on", start.position)
        return start

    def before(self, time_ms: int) -> LogOffset:
        """Files are searched for places alone.

        Raises:
            ConfigError: always.
        """
        raise ConfigError("source.binlog.files: no time can be found in log files: give an offset", number="CDC2402")

    def around(self, epoch: int, number: int, pos: int) -> tuple[LogOffset, LogOffset]:
        """Raises as `before`."""
        raise ConfigError("source.binlog.files: no position is found in log files: give an offset", number="CDC2402")

    def begin_from(self, at: LogOffset, history: SchemaHistory, renewal: HistoryRenewal) -> None:
        """`FileDefinitions` takes definitions from the log."""
        if not history.reaches(at.position):
            history.start(at.position, Tables(lower_case_table_names=self.lower_case_table_names))

    def located(self, at: LogOffset) -> LogOffset:
        """`at` where it is a place in these files; else by GTID, as at another server."""
        files = self._files()
        return at if self._counts(files, at) else self._moved(files, at)

    def end(self, at: LogOffset) -> LogOffset:
        """Where the files end now; what is written later is seen when this is asked again."""
        return self.come_to(self._files().end(at))

    def is_beyond(self, end: LogOffset, at: LogOffset) -> bool:
        """Nothing is where `binlog.files.stop` lies before."""
        if at.by_gtid:
            return is_beyond(end, at, mariadb=self.dialect.mariadb)
        return end.position.prefix > at.position.prefix

    def bytes_between(self, start: LogOffset, end: LogOffset) -> int:
        """By the sizes of the files."""
        return max(0, self._files().bytes_between(start, end))

    def cuts(self, start: LogOffset) -> bool:
        """One from another log may not: its transactions stand among others."""
        return self._counts(self._files(), start)

    def come_to(self, at: LogOffset) -> LogOffset:
        """To find that out reads its file from the begin."""
        self._know(at, here=True)
        return at

    def lag_bytes(self, at: LogOffset) -> int | None:
        """By the sizes of the files."""
        if at.snapshot_due:
            return None
        files = self._files()
        last = files.files[-1]
        return max(0, files.bytes_between(at, LogOffset(file=last.name, pos=last.size())))

    def retention(self, at: LogOffset) -> Retention | None:
        """Nobody purges copies but their owner."""
        return None

    def load(self, names: Collection[str]) -> Mapping[str, int]:
        """Files are never busy."""
        raise ConfigError("--max-load: files of a log are no server that could be busy")

    def opener(self, split: Split | None = None, *, listens: bool = False) -> OpenLog:
        """Files take no signals; a piece of a range was planned with these files."""
        if split is None or not split.payload.reader:
            return self._open
        return self._open_part if split.payload.part else self._open_piece

    @contextmanager
    def faults(self) -> Iterator[None]:
        """A server that ends its log too early is asked again; a file would never say anything else."""
        try:
            yield
        except LogEndedError as error:
            raise DecodeError(
                f"{self._config.binlog_files}: {error}: the log is damaged there", number="CDC5110"
            ) from error

    def take_over_missing(self, filters: Filters, definitions: Definitions, position: LogPosition) -> None:
        """`FileDefinitions` takes them from the log, when their rows come."""

    def snapshots(
        self,
        filters: Filters,
        mode: SnapshotMode,
        renewal: HistoryRenewal,
        history: Callable[[], SchemaHistory],
        run_id: str,
    ) -> NoSnapshots:
        """What refuses them: files of a log hold no tables."""
        return NoSnapshots()

    def readable(self, filters: Filters) -> Sequence[str]:
        """None can be read.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            "source.binlog.files: log files hold changes, not tables, so that none can be read again: take binlog.files"
            " out for that, so that the server is read",
            number="CDC2503",
        )

    def defined(self, table: str) -> Table:
        """Raises as `readable`."""
        raise ConfigError(
            "source.binlog.files: log files do not tell which columns a table has now: take binlog.files out",
            number="CDC2503",
        )

    def unmatched(self) -> Sequence[Unmatched]:
        """Which tables there are stands in no file."""
        return ()

    def close(self) -> None:
        """No file stays open between two readings."""

    def _files(self) -> LogFiles:
        return LogFiles(self._config)

    def _open_piece(self, start: LogOffset, end: LogOffset | None = None) -> tuple[OpenedLog, LogOffset]:
        by_gtid = end if end is not None and not end.file else None
        return self._opened(FileLog(self._files(), start), start, by_gtid), start

    def _open_part(self, start: LogOffset, end: LogOffset | None = None) -> tuple[OpenedLog, LogOffset]:
        return FileLog(self._files(), start), start

    def _open(self, start: LogOffset, end: LogOffset | None = None) -> tuple[OpenedLog, LogOffset]:
        files, first = self._files(), start
        here = self._counts(files, start)
        if not here:
            start = self._moved(files, start)
            first = files.before(start.gtids or "")
        elsewhere = end is not None and not (here and self._counts(files, end))
        return self._opened(FileLog(files, first), start, end if elsewhere else None), start

    def _opened(self, log: FileLog, start: LogOffset, end: LogOffset | None) -> OpenedLog:
        """The log as it is told of; with an end only the transactions up to there."""
        opened: OpenedLog = CommittedLog(log) if self.dialect.mariadb else log
        if end is None:
            return opened
        between = GtidStart(self._config).transactions
        return TransactionRange(opened, between(start.gtids or "", end.gtids or "", mariadb=self.dialect.mariadb))

    def _counts(self, files: LogFiles, offset: LogOffset) -> bool:
        """Whether an offset's place is one in these files; a place that was looked at is not looked at again."""
        place = offset.position, offset.by_gtid
        if place not in self._places:
            self._know(offset, here=files.counts(offset))
        return self._places[place]

    def _know(self, offset: LogOffset, *, here: bool) -> None:
        if len(self._places) >= _PLACES:
            self._places.clear()
        self._places[offset.position, offset.by_gtid] = here

    def _moved(self, files: LogFiles, offset: LogOffset) -> LogOffset:
        """An offset of another server's log as these files count it."""
        name = f"log-of-{files.server_id}"
        if offset.server == name:
            return offset.with_changes(file="", pos=0)
        if offset.server not in self._moved_from:  # files are looked for again and again
            self._moved_from.add(offset.server)
            log.warning("%s is another log than before: going on there by GTID", self._config.binlog_files)
        return offset.moved_to(name)
