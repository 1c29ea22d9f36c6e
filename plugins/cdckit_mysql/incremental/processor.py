"""Turns the log into records as ever, and does what signals ask for on the way."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any

from cdckit import Batch, DecodeError, Record, Struct
from cdckit.connector.incremental import Finished, IncrementalSnapshot, IncrementalState
from cdckit.connector.signals import Signal
from cdckit.connector.signals.signal import WINDOW_CLOSE, WINDOW_OPEN, one_line
from cdckit_mysql.binlog.events import LogEvent
from cdckit_mysql.binlog.query import Query
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.table_events import Row
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.incremental.blocking import BlockingSnapshot
from cdckit_mysql.incremental.gtid_marks import GtidMarks
from cdckit_mysql.incremental.positions import wanted_offset
from cdckit_mysql.incremental.server import SnapshotServer
from cdckit_mysql.incremental.table_chunks import TableChunks
from cdckit_mysql.incremental.table_marks import CLOSE, OPEN, TableMarks
from cdckit_mysql.incremental.told_definitions import told_definitions
from cdckit_mysql.incremental.visibility import begin_behind
from cdckit_mysql.offsets import LogOffset, LogPosition
from cdckit_mysql.options.signals import SCHEMA_CHANGES, SET_BINLOG_POSITION
from cdckit_mysql.server.connection import Connection, driver_errors
from cdckit_mysql.server.facts import query
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.processor import EVENT_ROWS, LogProcessor
from cdckit_mysql.streaming.row_decoders import RowDecoders
from cdckit_mysql.table import TableId

log = logging.getLogger("cdckit.mysql")

_BETWEEN_EVENTS = 5 * 10**13
"""Rows that are given out between two events count from here in the positions: behind all of the event before."""


class SignalTable(Filters):
    """Captures the signal table alone."""

    def _captures(self, database: str, table: str) -> bool:
        return self.signals(database, table)


class SignalledProcessor(LogProcessor):
    """A processor that listens.

    Args:
        config: the source's options.
        filters: what is captured.
        versions: what makes records of rows.
        definitions: the definitions in force where reading begins.
        start: where that is.
        server: the connection that tables are read through.
        within: whether reading ends where it was asked to, whatever is left to do.
    """

    def __init__(
        self,
        config: MySqlConfig,
        filters: Filters,
        versions: TableVersions,
        definitions: Definitions,
        start: LogOffset,
        server: SnapshotServer,
        *,
        within: bool = False,
    ) -> None:
        super().__init__(config, filters, versions, definitions, start)
        self._config = config
        self._server = server
        self._table = SignalTable(config)
        self._signals = RowDecoders(self._table, versions, definitions, frozenset())
        self._deletes_marks = config.incremental_snapshot_watermarking_strategy == "insert_delete"
        self._chunks = TableChunks(
            config,
            filters,
            versions,
            definitions,
            server.connection,
            server.log_end,
            self.progress.reached,
            self._begin_reading,
        )
        self._gtid_marks = GtidMarks(server) if config.read_only else None
        self._snapshot: IncrementalSnapshot[Row] = IncrementalSnapshot(
            self._chunks,
            self._gtid_marks or self._table_marks(),
            server.notifications,
            IncrementalState.from_json(dict(start.incremental or {})),
            {SET_BINLOG_POSITION: self._set_position, SCHEMA_CHANGES: self._change_schema},
        )
        self._from_table = "source" in config.channels
        self._moved: LogOffset | None = None
        self._within = within

    def _table_marks(self) -> TableMarks | None:
        if not self._config.signal_data_collection:
            return None
        return TableMarks(self._config, self._server.connection, self._key_column)

    def _key_column(self) -> str:
        """The first column of the signal table."""
        tables = self._definitions.tables
        found = [table for table in tables if self._table.captures(*table.id)]
        return found[0].columns[0].name if found else "id"

    def _begin_reading(self, connection: Connection) -> bool:
        """Begins the transaction of a chunk: behind a watermark in the log it sees all that was told before."""
        if self._gtid_marks is not None:
            return begin_behind(connection, self._server.facts(), self.progress.offset())
        query(connection, "START TRANSACTION")
        return True

    # -- what the log tells

    def _rows(self, event: RowsEvent) -> None:
        first = self._first_position(event)
        if not self.progress.skips():
            if self._table.captures(event.table.database, event.table.name):
                self._signalled(event, first)
            rows = self._captured_rows(event, first)
            if rows and self._snapshot.reading == f"{event.table.database}.{event.table.name}":
                self._told(event, rows)
        self.progress.events_done += 1

    def _told(self, event: RowsEvent, rows: Sequence[Any]) -> None:
        """Rows of the table in hand have changed."""
        wanted = self._snapshot.state.wanted[0]
        if event.change != "update":
            self._snapshot.changed(self._chunks.identities(wanted, rows))
            return
        for side in (0, 1):
            self._snapshot.changed(self._chunks.identities(wanted, [pair[side] for pair in rows]))

    def _close(self, event: LogEvent) -> None:
        super()._close(event)
        if self._snapshot.state.blocking:
            self.pause()

    def _change_definitions(self, event: Query) -> None:
        before = self._definitions.changes
        super()._change_definitions(event)
        if self._definitions.changes != before:
            self._snapshot.redefined()

    def _signalled(self, event: RowsEvent, first: int) -> None:
        """Takes rows of the signal table; a chunk that they end is given out before them."""
        for row in self._signal_rows(event.table, event):
            identifier, kind, data = (*row, None, None, None)[:3]
            if event.change == "delete":
                if self._deletes_marks and self._closes(identifier, OPEN):
                    self._give_out(event, first)
            elif event.change != "write":
                continue
            elif kind == WINDOW_OPEN:
                self._snapshot.opens(str(identifier).removesuffix(OPEN))
            elif kind == WINDOW_CLOSE:
                if self._closes(identifier, CLOSE):
                    self._give_out(event, first)
            elif self._from_table:
                self._take(identifier, kind, data)

    def _signal_rows(self, table: TableMap, event: RowsEvent) -> list[Row]:
        try:
            maker = self._signals.of(table)
            return list(maker.rows[event.change](event)) if maker is not None else []
        except DecodeError as error:
            log.warning("%s: a row of the signal table cannot be read: %s", self.progress.file, error)
            return []

    def _closes(self, identifier: object, ending: str) -> bool:
        return str(identifier).endswith(ending) and self._snapshot.waits_for(str(identifier).removesuffix(ending))

    def _take(self, identifier: object, kind: object, data: object) -> None:
        try:
            self._snapshot.take(Signal.of(identifier, kind, data))
        except ValueError as error:
            log.warning("a row of %s is no signal: %s", self._config.signal_data_collection, one_line(error))
        self.pause()

    def _give_out(self, event: RowsEvent, first: int) -> None:
        """The records of the chunk that ends here."""
        finished = self._snapshot.closed()
        source: dict[str, Any] = {
            "pos": event.start,
            "server_id": event.header[2],
            "gtid": self.progress.gtid,
            "thread": self._thread,
        }
        self.records += self._chunk_records(finished, *self._before(event, first), source)
        self.pause()

    def _before(self, event: RowsEvent, first: int) -> tuple[str, int]:
        """Where records stand in commit order that come before an event's own, and leave those where they were.

        Behind the announcement of its table; in a compressed transaction, whose events share their position, within
        the row numbers of the event before.
        """
        if first:
            return self._prefix(event), first - EVENT_ROWS // 2
        return LogPosition(self.progress.epoch, self.progress.file, event.start).prefix, 0

    def _chunk_records(self, finished: Finished[Row], prefix: str, first: int, source: dict[str, Any]) -> list[Record]:
        version = self._chunks.version(finished.name) if finished.rows else None
        if version is None:
            return []
        block = self._versions.blocks.block(
            version.table.id,
            time_us=time.time_ns() // 1000,
            file=self.progress.file,
            snapshot="incremental",
            **source,
        )
        return version.events.reads(finished.rows, block, prefix, first_position=first)

    # -- between batches

    def between(self) -> Iterator[Batch]:
        """What signals ask for: signals of other channels, blocking snapshots, the next chunk."""
        self._server.mailbox.covered()
        if self._server.mailbox.hand_out(self._snapshot.take) or self._moved is not None:
            yield self._standing()
        if self._moved is not None:
            self.ended = True
            return
        if self._snapshot.state.blocking and self._between_transactions:
            yield from self._blocking()
        before = self._snapshot.state
        self._advance()
        while self._passed():
            yield self._between_events(self._snapshot.closed())
            self._advance()
        if self._snapshot.state != before and not self._snapshot.waits:
            yield self._standing()

    def _advance(self) -> None:
        """The next chunk; one without watermarks in the log is not read while a transaction is told of in part."""
        if self._gtid_marks is None or self._between_transactions:
            self._snapshot.advance()

    @property
    def _between_transactions(self) -> bool:
        """Whether rows that are given out now have a place of their own: behind a transaction that is known."""
        progress = self.progress
        return bool(progress.file) and not progress.in_transaction and not progress.resuming

    def _passed(self) -> bool:
        """Whether the second watermark is passed that is no row of the log."""
        marks = self._gtid_marks
        if marks is None or not self._snapshot.waits or not self._between_transactions:
            return False
        return marks.passed(self.progress.offset().gtids)

    def _between_events(self, finished: Finished[Row]) -> Batch:
        offset = self.progress.offset()
        source: dict[str, Any] = {"pos": offset.pos, "server_id": offset.server_id, "gtid": None, "thread": None}
        number = _BETWEEN_EVENTS + finished.number
        records = self._chunk_records(finished, offset.position.prefix, number, source)
        return Batch([*records, *self._server.notifications.take()], self.offset().to_json())

    def _blocking(self) -> Iterator[Batch]:
        """Reads tables while the log waits; where it is broken off it begins anew."""
        reading = BlockingSnapshot(
            self._config, self._server, self._versions, self._definitions.reader, self.progress.offset()
        )
        for records in reading.records(self._snapshot.state.blocking):
            yield Batch([*records, *self._server.notifications.take()], None)
        self._snapshot.unblocked()
        yield self._standing()

    def _standing(self) -> Batch:
        """No records, but the offset, which knows what is left to do."""
        return Batch(self._server.notifications.take(), self.offset().to_json(), save=True)

    def _set_position(self, signal: Signal) -> None:
        with driver_errors(self._config, "looking for a place in the log"):
            found = wanted_offset(signal, self._config, self._server, self.progress.offset())
        self._moved = found
        log.warning("signal '%s': the log is read from %s on now", one_line(signal.id), self._moved.position)
        self.pause()

    def _change_schema(self, signal: Signal) -> None:
        """Takes over definitions, and tells of them where statements of the log are told."""
        with driver_errors(self._config, "asking for definitions"):
            captured = [TableId(*name.split(".", 1)) for name in self._server.captured(self._filters)]
            found = told_definitions(signal, captured, self._server.connection())
        at = self.offset()
        for number, (table, statement) in enumerate(found):
            changes = self._definitions.take_over(table, statement, at.position)
            log.info("signal '%s': the definition of %s is taken over", one_line(signal.id), table)
            if self._schema_changes is not None:
                tables, first = self._definitions.tables, _BETWEEN_EVENTS + number
                self.records += self._schema_changes.of_statement(changes, tables, self._block_between, at, first)
        self._snapshot.redefined()

    def _block_between(self, table: TableId) -> Struct:
        offset = self.progress.offset()
        return self._versions.blocks.block(table, time_us=time.time_ns() // 1000, file=offset.file, pos=offset.pos)

    def further(self) -> LogOffset | None:
        """Where the log ends now, as long as something is to be done."""
        busy = self._snapshot.busy and not self._within
        return self._server.log_end() if busy and not self._server.stopping() else None

    # -- what has been done

    def offset(self) -> LogOffset:
        """Where to go on, and what is left to do there."""
        return (self._moved or super().offset()).with_changes(incremental=self._snapshot.state.to_json())

    def take(self) -> list[Record]:
        """The records since the last call, and notifications."""
        return [*super().take(), *self._server.notifications.take()]
