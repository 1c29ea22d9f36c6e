"""The source `mysql` / `mariadb` where `binlog.files` names log files: they are read as a server's log is."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

from cdckit import (
    Batch,
    CdcError,
    DecodeError,
    Finding,
    Offset,
    Source,
    SourceContext,
    SourceError,
    Split,
    StateError,
    StateStore,
)
from cdckit.connector.context_headers import time_ordered_uuid
from cdckit_mysql.binlog.errors import LogEndedError
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.table_marker import TableMarker
from cdckit_mysql.events.topic_collisions import check_topics
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.files.definitions import FileDefinitions, dialect_of
from cdckit_mysql.files.log import FileLog, LogFiles
from cdckit_mysql.files.reading import LogFileReader
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset, LogPosition, check_given
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.splits import LogWork
from cdckit_mysql.streaming.gtid_start import GtidStart
from cdckit_mysql.streaming.opened_log import OpenedLog
from cdckit_mysql.streaming.planning import LogPlanner
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.progress import covers, gtid_set
from cdckit_mysql.streaming.range_ends import RangeEnds
from cdckit_mysql.streaming.reader import LogReader, read_kept
from cdckit_mysql.streaming.rollback_filter import CommittedLog
from cdckit_mysql.streaming.transaction_range import TransactionRange
from cdckit_mysql.table import Tables

log = logging.getLogger("cdckit.mysql")

_PLACES = 16
"""So many offsets are known to be places in the files, or none."""


class LogFileSource(Source):
    """Reads files of a binary log, from the saved offset or `binlog.files.start` on; ends where they end."""

    tells_marks = True

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._filters = Filters(config)
        self._context = SourceContext(config.topic_prefix)
        self._run_id = str(time_ordered_uuid())
        self._places: dict[tuple[LogPosition, bool], bool] = {}

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
        log.info("the files are read from %s on", start.position)
        return start.to_json()

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        """Where the files end now; what is written later is seen at the next call."""
        at = self._place(start)
        files = LogFiles(self._config)
        if not self._counts(files, at):
            at = self._moved(files, self._ends.known(at))
            end = files.end(at)
            return start if self._covers(at, end) else end.to_json()
        end = files.end(at)
        return end.to_json() if end.position.prefix > at.position.prefix else start

    def cut(self, start: Offset, end: Offset, max_bytes: int) -> Offset:
        """The end of a transaction about `max_bytes` beyond `start`."""
        files, first, last = LogFiles(self._config), self._place(start), LogOffset.from_json(end)
        if not self._counts(files, first) or files.bytes_between(first, last) <= max_bytes:
            return end
        with _lasting(self._config):
            found = self._planner.cut(first, last, max_bytes)
        return end if found == last else found.to_json()

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        """Everything up to the end of the files, or the ranges up to `end`; nothing once that is reached."""
        files, first = LogFiles(self._config), self._place(start)
        last = LogOffset.from_json(self.latest_offset(start) if end is None else end)
        if first.position.prefix >= last.position.prefix:
            return []
        if end is None:
            tables = self._history.tables_at(first.position)
            check_topics(self._config, self._filters, tables)
            return [Split(start, last.to_json(), LogWork(tables, self._dialect, self._run_id))]
        size = files.bytes_between(first, last)
        with _lasting(self._config):
            return self._planner.splits(start, end, max(0, size), parallelism)

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
            work.tables, self._config, self._filters, work.dialect, history=history, notices=self._context.notices
        )
        versions = TableVersions(self._config, self._filters, work.dialect.rows, run_id=work.run_id)

        marker = TableMarker(self._filters, versions) if self._context.marks else None

        def make_processor(at: LogOffset) -> LogProcessor:
            processor = LogProcessor(self._config, self._filters, versions, definitions, at, marker)
            processor.count_in(self._context.counts)
            return processor

        if work.events is not None:
            return read_kept(work, start, make_processor(start), self._config.max_batch_size)
        end = LogOffset.from_json(split.end or {})
        if work.gtids is not None:
            end = end.with_changes(file="", pos=0, gtids=work.gtids)

        def replayed(here: LogOffset) -> None:
            if state is not None:
                self._planner.replayed(LogOffset.from_json(split.end or {}), end, here, definitions.tables)

        open_log = self._open_piece if work.reader else self._open_log
        reader = LogReader(self._config, open_log, make_processor, self._context)
        return _without_waiting(reader.range(start, end, replayed), self._config)

    def _open_piece(self, start: LogOffset, end: LogOffset | None = None) -> tuple[OpenedLog, LogOffset]:
        """A piece of a range, which was planned with these files."""
        return self._opened(
            FileLog(LogFiles(self._config), start), start, None if end is None or end.file else end
        ), start

    def _open_log(self, start: LogOffset, end: LogOffset | None = None) -> tuple[OpenedLog, LogOffset]:
        files, first = LogFiles(self._config), start
        start = self._ends.known(start) if self._context.state is not None else start
        here = self._counts(files, start)
        if not here:
            start = self._moved(files, start)
            first = files.before(start.gtids or "")
        elsewhere = end is not None and not (here and self._counts(files, end))
        return self._opened(FileLog(files, first), start, end if elsewhere else None), start

    def _opened(self, log: FileLog, start: LogOffset, end: LogOffset | None) -> OpenedLog:
        """The log as it is told of; with an end only the transactions up to there."""
        opened: OpenedLog = CommittedLog(log) if self._dialect.mariadb else log
        if end is None:
            return opened
        between = GtidStart(self._config).transactions
        return TransactionRange(opened, between(start.gtids or "", end.gtids or "", mariadb=self._dialect.mariadb))

    def _counts(self, files: LogFiles, offset: LogOffset) -> bool:
        """Whether an offset's place is one in these files; a place that was looked at is not looked at again."""
        place = offset.position, offset.by_gtid
        if place not in self._places:
            if len(self._places) >= _PLACES:
                self._places.clear()
            self._places[place] = files.counts(offset)
        return self._places[place]

    def _moved(self, files: LogFiles, offset: LogOffset) -> LogOffset:
        """An offset of another server's log as these files count it: by GTID, and the epoch begins anew."""
        name = f"log-of-{files.server_id}"
        if offset.server == name:
            return offset.with_changes(file="", pos=0)
        log.warning("%s is another log than before: going on there by GTID", self._config.binlog_files)
        return offset.with_changes(
            epoch=offset.epoch + 1, server=name, file="", pos=0, event=0, row=0, transaction_id=None, counts={}
        )

    def _covers(self, at: LogOffset, end: LogOffset) -> bool:
        mariadb = self._dialect.mariadb
        return covers(gtid_set(at.gtids, mariadb=mariadb), gtid_set(end.gtids, mariadb=mariadb))

    # -- files and state

    def _place(self, offset: Offset) -> LogOffset:
        """An offset in the files.

        Raises:
            SourceError: it is none.
        """
        at = LogOffset.kept(offset)
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
            for _ in parser.events([(reader.description, 0, len(reader.description))]):
                pass
        return dialect_of(parser.server_version)

    @cached_property
    def _history(self) -> SchemaHistory:
        return SchemaHistory(self._state)

    @cached_property
    def _ends(self) -> RangeEnds:
        return RangeEnds(self._state)

    @property
    def _state(self) -> StateStore:
        if self._context.state is None:
            raise StateError("planning needs the pipeline's state")
        return self._context.state

    @cached_property
    def _planner(self) -> LogPlanner:
        return LogPlanner(
            self._config,
            self._filters,
            self._dialect,
            self._history,
            self._context.notices,
            self._run_id,
            self._ends,
            open_log=self._open_log,
        )


@contextmanager
def _lasting(config: MySqlConfig) -> Iterator[None]:
    """A server that ends its log too early is asked again; a file would never say anything else."""
    try:
        yield
    except LogEndedError as error:
        raise DecodeError(f"{config.binlog_files}: {error}: the log is damaged there") from error


def _without_waiting(batches: Iterator[Batch], config: MySqlConfig) -> Iterator[Batch]:
    with _lasting(config):
        yield from batches
