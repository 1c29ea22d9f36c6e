"""The source `mysql` / `mariadb` where `binlog.files` names log files: they are read as a server's log is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from cdckit.checks import Finding
from cdckit.context_headers import time_ordered_uuid
from cdckit.errors import CdcError, SourceError, StateError
from cdckit.record import Batch, Offset
from cdckit.source import Source, SourceContext, Split
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.files.definitions import FileDefinitions, dialect_of
from cdckit_mysql.files.log import FileLog, LogFiles
from cdckit_mysql.files.reading import LogFileReader
from cdckit_mysql.filters import Filters
from cdckit_mysql.history import SchemaHistory
from cdckit_mysql.offsets import LogOffset, check_given
from cdckit_mysql.server import Dialect
from cdckit_mysql.splits import LogWork
from cdckit_mysql.streaming.committed import CommittedLog
from cdckit_mysql.streaming.kept_log import read_kept
from cdckit_mysql.streaming.opened_log import OpenedLog
from cdckit_mysql.streaming.planning import LogPlanner
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.reader import LogReader
from cdckit_mysql.table import Tables


class LogFileSource(Source):
    """Reads files of a binary log, from the saved offset or `binlog.files.start` on; ends where they end."""

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._filters = Filters(config)
        self._context = SourceContext(config.topic_prefix)
        self._run_id = str(time_ordered_uuid())

    @classmethod
    def check(cls, config: MySqlConfig) -> Sequence[Finding]:
        """Whether the files can be read, for `cdc validate --connect`."""
        try:
            files = LogFiles(config)
            start, end = files.start(), files.end(LogOffset())
        except CdcError as error:
            return [Finding("binlog.files", "fail", str(error))]
        found = f"{len(files.files)} files, read from {start.position} to {end.position}"
        return [Finding("binlog.files", "ok", found)]

    def open(self, context: SourceContext) -> None:
        """Keeps the context; looks for files when something is asked."""
        self._context = context

    def check_offset(self, offset: Offset) -> None:
        """It must name a file of the log and a place in it."""
        check_given(offset)

    def close(self) -> None:
        """Nothing is held between two readings."""

    # -- planning

    def initial_offset(self) -> Offset:
        """`binlog.files.start`, or the begin of the first file."""
        start = LogFiles(self._config).start()
        if not self._history.reaches(start.position):
            self._history.start(start.position, Tables())
        return start.to_json()

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        """Where the files end now; what is written later is seen at the next call."""
        at = self._place(start)
        end = LogFiles(self._config).end(at)
        return end.to_json() if end.position.prefix > at.position.prefix else start

    def cut(self, start: Offset, end: Offset, max_bytes: int) -> Offset:
        """The end of a transaction about `max_bytes` beyond `start`."""
        first, last = self._place(start), LogOffset.from_json(end)
        if LogFiles(self._config).bytes_between(first, last) <= max_bytes:
            return end
        found = self._planner.cut(first, last, max_bytes)
        return end if found == last else found.to_json()

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        """Everything up to the end of the files, or the ranges up to `end`; nothing once that is reached."""
        first = self._place(start)
        last = LogFiles(self._config).end(first) if end is None else LogOffset.from_json(end)
        if first.position.prefix >= last.position.prefix:
            return []
        if end is None:
            work = LogWork(self._history.tables_at(first.position), self._dialect, self._run_id)
            return [Split(start, last.to_json(), work)]
        size = LogFiles(self._config).bytes_between(first, last)
        return self._planner.splits(start, end, size, parallelism)

    def lag_bytes(self, offset: Offset) -> int | None:
        """By the sizes of the files."""
        try:
            files, at = LogFiles(self._config), self._place(offset)
            last = files.files[-1]
            return max(0, files.bytes_between(at, LogOffset(file=last.name, pos=last.size())))
        except CdcError:
            return None

    def time_ms(self, offset: Offset) -> int | None:
        """To the second."""
        return LogOffset.from_json(offset).ts_sec * 1000 or None

    # -- reading

    def read(self, split: Split) -> Iterator[Batch]:
        """The split's batches."""
        work, start = split.payload, LogOffset.from_json(split.start)
        state = self._context.state
        history = SchemaHistory(state) if state is not None else None
        definitions = FileDefinitions(
            work.tables, self._config, self._filters, work.dialect, history=history, notify=self._context.notify
        )
        versions = TableVersions(self._config, self._filters, work.dialect.rows, run_id=work.run_id)

        def make_processor(at: LogOffset) -> LogProcessor:
            return LogProcessor(self._config, self._filters, versions, definitions, at)

        if work.events is not None:
            return read_kept(work, start, make_processor(start), self._config.max_batch_size)
        reader = LogReader(self._config, self._open_log, make_processor, self._context)
        return reader.range(start, LogOffset.from_json(split.end or {}))

    def _open_log(self, start: LogOffset) -> tuple[OpenedLog, LogOffset]:
        files = FileLog(LogFiles(self._config), start)
        return CommittedLog(files) if self._dialect.mariadb else files, start

    # -- files and state

    def _place(self, offset: Offset) -> LogOffset:
        """An offset in the files.

        Raises:
            SourceError: it is none.
        """
        at = LogOffset.from_json(offset)
        if at.snapshot_due:
            raise SourceError(
                "the saved offset lies within a snapshot, which log files cannot give: finish the snapshot at the "
                "server, or start with a new state folder"
            )
        return at

    @cached_property
    def _dialect(self) -> Dialect:
        with LogFileReader(LogFiles(self._config).files[0]) as reader:
            parser = EventParser(reader.file.name)
            parser.event(reader.description, 0, len(reader.description))
        return dialect_of(parser.server_version)

    @cached_property
    def _history(self) -> SchemaHistory:
        if self._context.state is None:
            raise StateError("planning needs the pipeline's state")
        return SchemaHistory(self._context.state)

    @cached_property
    def _planner(self) -> LogPlanner:
        return LogPlanner(
            self._config,
            self._filters,
            self._dialect,
            self._history,
            self._context.notify,
            self._run_id,
            open_log=self._open_log,
        )
