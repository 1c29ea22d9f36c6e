"""The source `mysql` / `mariadb`: a snapshot of the captured tables, then the binary log."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from cdckit.errors import RetriableSourceError, SourceError, StateError
from cdckit.record import Batch, Offset
from cdckit.source import Source, SourceContext, Split
from cdckit_mysql.checks import check_log
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.connection import Connection, connect, place, told
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.history import SchemaHistory
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset
from cdckit_mysql.server import Dialect, Server, log_end, read_dialect, read_server
from cdckit_mysql.snapshot.consistent import ConsistentSnapshot
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.opening import LogOpener, on_server
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.reader import LogReader
from cdckit_mysql.streaming.retention import oldest_position, why_lost
from cdckit_mysql.table import Tables

log = logging.getLogger("cdckit.mysql")

_LOG_END_POLL = 0.025
"""How often, in seconds, the server is asked for its log's end while it is waited for."""


@dataclass(frozen=True, slots=True)
class SnapshotWork:
    """The payload of a split that is a whole snapshot."""

    epoch: int
    with_rows: bool


@dataclass(frozen=True, slots=True)
class LogWork:
    """The payload of a split of the log.

    Attributes:
        tables: the definitions in force at its start.
        dialect: whose log it is.
        reader: tells readers apart that read at the same time.
    """

    tables: Tables
    dialect: Dialect
    reader: int = 0


class MySqlSource(Source):
    """Reads a server of the MySQL family."""

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._filters = Filters(config)
        self._context = SourceContext(config.topic_prefix)
        self._connection: Connection | None = None
        self._server: Server | None = None
        self._planned = False

    # -- the contract

    def open(self, context: SourceContext) -> None:
        """Keeps the context; connects when something is asked."""
        self._context = context

    def initial_offset(self) -> Offset:
        """Before a snapshot; in mode `never` the oldest place that the log still has."""
        if self._config.snapshot_mode != "never":
            return LogOffset(snapshot=SNAPSHOT_RUNNING).to_json()
        server = self._asked()
        with told(self._config, "asking for the oldest log file"):
            start = oldest_position(self._sql, server)
        self._history.start(start.position, Tables(lower_case_table_names=server.lower_case_table_names))
        return start.to_json()

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        """Where the log ends now, as soon as that is beyond `start`."""
        at = LogOffset.from_json(start)
        server = self._asked()
        at = on_server(at, server, place(self._config))
        until = time.monotonic() + wait_seconds
        while True:
            with told(self._config, "asking for the log's end"):
                end = log_end(self._sql, server)
            if (end.file, end.pos) != (at.file, at.pos):
                return end.with_changes(epoch=at.epoch, ts_sec=int(time.time())).to_json()
            if time.monotonic() >= until or self._context.stopping():
                return start
            time.sleep(_LOG_END_POLL)

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        """The snapshot, the open-ended log, or a range of the log."""
        server = self._asked()
        at = self._checked_start(LogOffset.from_json(start), server)
        if at.snapshot_due:
            return [self._snapshot_split(start, at)]
        if self._config.snapshot_mode == "initial_only" or start == end:
            return []
        work = LogWork(self._history.tables_at(at.position), self._dialect)
        return [Split(start, end, work)]

    def read(self, split: Split) -> Iterator[Batch]:
        """The split's batches."""
        if isinstance(split.payload, SnapshotWork):
            return self._read_snapshot(split.payload)
        return self._read_log(split)

    def close(self) -> None:
        """Lets the connection go."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- planning

    def _checked_start(self, at: LogOffset, server: Server) -> LogOffset:
        """`at`, or a new beginning where its place in the log is gone and a snapshot may be taken for that.

        Raises:
            SourceError: the place is gone.
        """
        mode, first = self._config.snapshot_mode, not self._planned
        self._planned = True
        if at.snapshot_due:
            if at.file and first:
                log.warning("the last snapshot was not finished: it starts again")
            return at
        if mode == "always" and first:
            return at.with_changes(snapshot=SNAPSHOT_RUNNING)
        with told(self._config, "asking for the log files"):
            reason = why_lost(self._sql, server, at)
        if reason is None:
            return at
        if mode == "when_needed":
            log.warning("%s: a new snapshot is taken (snapshot.mode=when_needed)", reason)
            return at.with_changes(snapshot=SNAPSHOT_RUNNING, epoch=at.epoch + 1)
        raise SourceError(
            f"{reason}: changes are lost; snapshot.mode=when_needed takes a new snapshot, as does a new state folder"
        )

    def _snapshot_split(self, start: Offset, at: LogOffset) -> Split:
        work = SnapshotWork(at.epoch, with_rows=self._config.snapshot_mode != "no_data")
        return Split(start, start, work)

    # -- reading

    def _read_snapshot(self, work: SnapshotWork) -> Iterator[Batch]:
        return ConsistentSnapshot(
            self._config,
            self._filters,
            self._context,
            self._history,
            epoch=work.epoch,
            with_rows=work.with_rows,
        ).batches()

    def _read_log(self, split: Split) -> Iterator[Batch]:
        work: LogWork = split.payload
        start = LogOffset.from_json(split.start)
        history = SchemaHistory(self._context.state) if self._context.state is not None else None
        definitions = Definitions(
            work.tables,
            self._config,
            self._filters,
            work.dialect,
            history=history,
            notify=self._context.notify,
        )
        versions = self._versions(work.dialect.mariadb)

        def make_processor(at: LogOffset) -> LogProcessor:
            return LogProcessor(self._config, self._filters, versions, definitions, at, mariadb=work.dialect.mariadb)

        opener = LogOpener(self._config, reader=work.reader, follow=split.end is None)
        reader = LogReader(self._config, opener, make_processor, self._context.stopping, self._context.idle_seconds)
        return reader.follow(start) if split.end is None else reader.range(start, LogOffset.from_json(split.end))

    def _versions(self, mariadb: bool) -> TableVersions:
        return TableVersions(self._config, self._filters, mariadb=mariadb)

    # -- the server and the state

    def _asked(self) -> Server:
        """The server's facts, on a connection that is open.

        Raises:
            SourceError: it cannot be reached, refuses, or logs no rows.
        """
        if self._server is not None and self._connection is not None:
            return self._server
        try:
            self._connection = connect(self._config)
        except RetriableSourceError as error:
            raise SourceError(str(error)) from error
        with told(self._config, "asking the server for its settings"):
            self._server = read_server(self._connection)
        check_log(self._server, place(self._config))
        return self._server

    @property
    def _sql(self) -> Connection:
        assert self._connection is not None
        return self._connection

    @cached_property
    def _dialect(self) -> Dialect:
        server = self._asked()
        with told(self._config, "asking the server for its character sets"):
            return read_dialect(self._sql, server)

    @cached_property
    def _history(self) -> SchemaHistory:
        if self._context.state is None:
            raise StateError("planning needs the pipeline's state")
        return SchemaHistory(self._context.state)
