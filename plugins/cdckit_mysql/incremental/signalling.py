"""What signals ask a source to do while its log is followed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cdckit import Batch, DecodeError, Record, Struct
from cdckit.connector.incremental import Finished, SignalledSnapshots, TableMarks
from cdckit.connector.signals import Signal
from cdckit.connector.signals.signal import one_line
from cdckit.connector.table_events import Row
from cdckit_mysql.binlog.rows_event import Change, RowsEvent
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.incremental.blocking import BlockingSnapshot
from cdckit_mysql.incremental.gtid_marks import GtidMarks
from cdckit_mysql.incremental.positions import wanted_offset
from cdckit_mysql.incremental.server import SnapshotServer
from cdckit_mysql.incremental.table_chunks import TableChunks
from cdckit_mysql.incremental.told_definitions import told_definitions
from cdckit_mysql.incremental.visibility import begin_behind
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.options.snapshot import SCHEMA_CHANGES, SET_BINLOG_POSITION
from cdckit_mysql.schema_changes.records import SchemaChangeRecords
from cdckit_mysql.server.connection import Connection, driver_errors
from cdckit_mysql.server.facts import query, quoted
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.progress import LogProgress
from cdckit_mysql.streaming.row_decoders import RowDecoders
from cdckit_mysql.table import TableId

log = logging.getLogger("cdckit.mysql")

_BETWEEN_EVENTS = 5 * 10**13
"""Rows that are given out between two events count from here in the positions: behind all of the event before."""


class SignalTable(Filters):
    """Captures the signal table alone."""

    def _captures(self, database: str, table: str) -> bool:
        return self.signals(database, table)


class Signalling:
    """Listens beside a log processor, which tells it what it needs of the log, and asks it between batches.

    Args:
        config: the source's options.
        filters: what is captured.
        versions: what makes records of rows.
        definitions: the definitions in force where the log is read.
        server: the connection that tables are read through.
        within: whether reading ends where it was asked to, whatever is left to do.
        start: where reading begins.
        progress: where it is; the processor's.
        log_offset: gives the processor's offset, which knows nothing of signals.

    Attributes:
        ended: whether reading is not to go on from here.
    """

    def __init__(
        self,
        config: MySqlConfig,
        filters: Filters,
        versions: TableVersions,
        definitions: Definitions,
        server: SnapshotServer,
        *,
        within: bool,
        start: LogOffset,
        progress: LogProgress,
        log_offset: Callable[[], LogOffset],
    ) -> None:
        self.ended = False
        self._config = config
        self._filters = filters
        self._versions = versions
        self._definitions = definitions
        self._server = server
        self._within = within
        self._progress = progress
        self._log_offset = log_offset
        self._moved: LogOffset | None = None
        self._made: list[Record] = []
        self._table = SignalTable(config)
        self._rows = RowDecoders(self._table, versions, definitions, frozenset())
        self._schema_changes = SchemaChangeRecords(config, filters, versions) if config.include_schema_changes else None
        self._chunks = TableChunks(
            config,
            filters,
            versions,
            definitions,
            server.connection,
            server.log_end,
            progress.reached,
            self._begin_reading,
        )
        self._gtid_marks = GtidMarks(server) if config.read_only else None
        self._signalled: SignalledSnapshots[Row] = SignalledSnapshots(
            config,
            self._chunks,
            self._gtid_marks or self._table_marks(),
            server.mailbox,
            server.notifications,
            start.incremental,
            {SET_BINLOG_POSITION: self._set_position, SCHEMA_CHANGES: self._change_schema},
        )
        self._snapshot, self._listener = self._signalled.snapshot, self._signalled.listener

    def _table_marks(self) -> TableMarks | None:
        if not self._config.signal_data_collection:
            return None
        table = quoted(*self._config.signal_data_collection.split(".", 1))
        return TableMarks(self._config, table, self._key_column, self._write_mark, placeholder="%s")

    def _key_column(self) -> str:
        """The first column of the signal table, quoted."""
        tables = self._definitions.tables
        found = [table for table in tables if self._table.captures(*table.id)]
        return quoted(found[0].columns[0].name if found else "id")

    def _write_mark(self, statement: str, *values: str) -> None:
        with driver_errors(self._config, f"writing a watermark into {self._config.signal_data_collection}"):
            query(self._server.connection(), statement, values)

    def _begin_reading(self, connection: Connection) -> bool:
        """Begins the transaction of a chunk: behind a watermark in the log it sees all that was told before."""
        if self._gtid_marks is not None:
            return begin_behind(connection, self._server.facts(), self._progress.offset())
        query(connection, "START TRANSACTION")
        return True

    # -- what the log tells

    def hears(self, table: TableMap) -> bool:
        """Whether a table is the signal table."""
        return self._table.captures(table.database, table.name)

    def heard(self, event: RowsEvent, prefix: str, first: int, thread: int | None) -> list[Record] | None:
        """Rows of the signal table have changed.

        Args:
            event: the change.
            prefix: what the positions of records begin with that come before the event's own.
            first: the first row number for them.
            thread: of the transaction.

        Returns:
            The records of a chunk that ends there, to be given out before the event's own; the batch is to end then.
            None where there is nothing to be done.
        """
        heard: list[Record] | None = None
        for change, row in self._signal_rows(event):
            identifier, kind, data = (*row, None, None, None)[:3]
            finished = None
            if change == "delete":
                finished = self._listener.deleted(identifier)
            elif change == "write":
                finished = self._listener.inserted(identifier, kind, data)
            if finished is not None:
                source = {"pos": event.start, "server_id": event.header[2], "gtid": self._progress.gtid}
                made = self._chunk_records(finished, prefix, first, {**source, "thread": thread})
                heard = [*(heard or ()), *self._take_made(), *made]
        return heard

    def _signal_rows(self, event: RowsEvent) -> list[tuple[Change, Row]]:
        try:
            maker = self._rows.of(event.table)
            if maker is None:
                return []
            return [(part.change, row) for part in maker.parts(event) for row in maker.rows[part.change](part)]
        except DecodeError as error:
            log.warning("%s: a row of the signal table cannot be read: %s", self._progress.file, error)
            return []

    def changed(self, event: RowsEvent, rows: Sequence[Any]) -> None:
        """Rows of a captured table have changed: those of the chunk in hand are newer now."""
        if self._snapshot.reading != f"{event.table.database}.{event.table.name}":
            return
        wanted = self._snapshot.state.wanted[0]
        if event.change != "update":
            self._snapshot.changed(self._chunks.identities(wanted, rows))
            return
        for side in (0, 1):
            self._snapshot.changed(self._chunks.identities(wanted, [pair[side] for pair in rows]))

    def redefined(self) -> None:
        """A statement of the log has changed definitions."""
        self._snapshot.redefined()

    @property
    def blocks(self) -> bool:
        """Whether the log is to wait where its transaction ends: a batch is to end there."""
        return bool(self._snapshot.state.blocking)

    def _chunk_records(self, finished: Finished[Row], prefix: str, first: int, source: dict[str, Any]) -> list[Record]:
        version = self._chunks.version(finished.name) if finished.rows else None
        if version is None:
            return []
        block = self._versions.blocks.block(
            version.table.id,
            time_us=time.time_ns() // 1000,
            file=self._progress.file,
            snapshot="incremental",
            **source,
        )
        return version.events.reads(finished.rows, block, prefix, first_position=first)

    # -- between batches

    def between(self) -> Iterator[Batch]:
        """What signals ask for: signals of other channels, blocking snapshots, the next chunk."""
        if self._signalled.hear() or self._moved is not None:
            yield self._standing()
            self._signalled.covered()
        if self._moved is not None:
            self.ended = True
            return
        if self._snapshot.state.blocking and self._between_transactions:
            yield from self._blocking()
        yield from self._advance()
        while self._passed():
            yield self._between_events(self._snapshot.closed())
            yield from self._advance()

    def _advance(self) -> Iterator[Batch]:
        """The next chunk; one without watermarks in the log is not read while a transaction is told of in part."""
        if (self._gtid_marks is None or self._between_transactions) and self._snapshot.advance():
            yield self._standing()

    @property
    def _between_transactions(self) -> bool:
        """Whether rows that are given out now have a place of their own: behind a transaction that is known."""
        progress = self._progress
        return bool(progress.file) and not progress.in_transaction and not progress.resuming

    def _passed(self) -> bool:
        """Whether the second watermark is passed that is no row of the log."""
        marks = self._gtid_marks
        if marks is None or not self._snapshot.waits or not self._between_transactions:
            return False
        return marks.passed(self._progress.offset().gtids)

    def _between_events(self, finished: Finished[Row]) -> Batch:
        offset = self._progress.offset()
        source: dict[str, Any] = {"pos": offset.pos, "server_id": offset.server_id, "gtid": None, "thread": None}
        number = _BETWEEN_EVENTS + finished.number
        records = self._chunk_records(finished, offset.position.prefix, number, source)
        return Batch([*records, *self.notifications()], self.offset().to_json())

    def _blocking(self) -> Iterator[Batch]:
        """Reads tables while the log waits; where it is broken off it begins anew."""
        reading = BlockingSnapshot(
            self._config, self._server, self._versions, self._definitions.reader, self._progress.offset()
        )
        for records in reading.records(self._snapshot.state.blocking):
            yield Batch([*records, *self.notifications()], None)
        self._snapshot.unblocked()
        yield self._standing()

    def _standing(self) -> Batch:
        """The offset, which knows what is left to do."""
        return Batch([*self._take_made(), *self.notifications()], self.offset().to_json(), save=True)

    def _set_position(self, signal: Signal) -> None:
        with driver_errors(self._config, "looking for a place in the log"):
            found = wanted_offset(signal, self._config, self._server, self._progress.offset())
        self._moved = found
        log.warning("signal '%s': the log is read from %s on now", one_line(signal.id), self._moved.position)

    def _change_schema(self, signal: Signal) -> None:
        """Takes over definitions, and tells of them where statements of the log are told."""
        with driver_errors(self._config, "asking for definitions"):
            captured = [TableId(*name.split(".", 1)) for name in self._server.captured(self._filters)]
            found = told_definitions(signal, captured, self._server.connection())
        at = self.offset()
        for number, (table, statement) in enumerate(found):
            changes = self._definitions.take_over(table, statement, at.position, behind=lambda: at)
            log.info("signal '%s': the definition of %s is taken over", one_line(signal.id), table)
            if self._schema_changes is not None:
                tables, first = self._definitions.tables, _BETWEEN_EVENTS + number
                self._made += self._schema_changes.of_statement(changes, tables, self._block_between, at, first)
        self._snapshot.redefined()

    def _block_between(self, table: TableId) -> Struct:
        offset = self._progress.offset()
        return self._versions.blocks.block(table, time_us=time.time_ns() // 1000, file=offset.file, pos=offset.pos)

    def further(self) -> LogOffset | None:
        """Where the log ends now, as long as something is to be done."""
        busy = self._snapshot.busy and not self._within
        return self._server.log_end() if busy and not self._server.stopping() else None

    # -- what has been done

    def offset(self) -> LogOffset:
        """Where to go on, and what is left to do there."""
        return (self._moved or self._log_offset()).with_changes(incremental=self._signalled.left)

    def notifications(self) -> list[Record]:
        """The records of notifications that wait."""
        return self._server.notifications.take()

    def _take_made(self) -> list[Record]:
        made, self._made = self._made, []
        return made
