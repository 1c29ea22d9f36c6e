"""The log's events become records, in order, with the definitions in force at each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from cdckit import Batch, BegunPlaces, DecodeError, MarkKind, Record, SourceCounts, Struct, TableMark, Undecoded
from cdckit.connector.transactions import Transaction
from cdckit_mysql.binlog.events import (
    AnnotateRows,
    AnonymousGtid,
    Gtid,
    Incident,
    LogEvent,
    MariaDbGtid,
    Rotate,
    RowsQuery,
    StatementContext,
    TaggedGtid,
    XaPrepare,
    Xid,
)
from cdckit_mysql.binlog.integrity import DAMAGE, misread
from cdckit_mysql.binlog.query import CompressedQuery, LoadQuery, Query
from cdckit_mysql.binlog.rows_event import Change, RowsEvent
from cdckit_mysql.binlog.tables import TableMapEvent
from cdckit_mysql.ddl import SchemaChange
from cdckit_mysql.incremental.signalling import Signalling
from cdckit_mysql.offsets import NO_GTID, LogOffset, LogPosition, record_position
from cdckit_mysql.streaming.counts import TableTally, Tally, new_tally, pour
from cdckit_mysql.streaming.event_positions import EVENT_ROWS, EventPositions
from cdckit_mysql.streaming.failures import Failures
from cdckit_mysql.streaming.gtid_filter import filter_sources
from cdckit_mysql.streaming.passed_over import RowsFacts, undecoded
from cdckit_mysql.streaming.processor_parts import ProcessorParts
from cdckit_mysql.streaming.progress import LogProgress
from cdckit_mysql.streaming.row_decoders import DecodedRows, RowDecoders, RowMaker
from cdckit_mysql.streaming.row_ends import RowEnds
from cdckit_mysql.streaming.statement_records import StatementRecords
from cdckit_mysql.table import Table, TableId

_SERVER_ID = 2
"""Where an event's header holds the server that made the change."""
_EVENTS_OF_A_KEY_CHANGE = 2
"""A delete and a create, which the counts of a transaction's events hold both."""
_MOST_BYTES = 1 << 22
"""Rows of so many bytes in the log are enough for a batch, however few they are."""


class LogProcessor:
    """Turns events into records; `records` collects them until `take`."""

    def __init__(self, parts: ProcessorParts) -> None:
        config, start, definitions, versions = parts.config, parts.start, parts.definitions, parts.versions
        self.progress = LogProgress(start, mariadb=definitions.mariadb)
        self.records: list[Record] = []
        self.marks: list[TableMark] = []
        """Table marks among the records; whoever takes these takes them, too."""
        self.row_ends: RowEnds | None = None
        """Takes where rows end, if that is asked for."""
        self._bytes = 0
        self._versions = versions
        self._block = versions.blocks.block
        self._definitions = definitions
        self._decoders = RowDecoders(parts.filters, versions, definitions, config.skipped, parts.reselection)
        self._statements = StatementRecords(parts)
        self._conversions = versions.conversion_failures
        self.failures = Failures(config)
        format_ = versions.format
        told = format_.mariadb_gtids or not definitions.mariadb
        self._with_query = config.include_query and told
        self._with_transactions = config.provide_transaction_metadata
        self._transaction_schemas = format_.transactions
        self._query: str | None = None
        self._thread: int | None = None
        self._transaction: Transaction | None = None
        self._counts = dict(start.counts)
        positions = EventPositions(self.progress)
        self._prefix, self._first_position = positions.prefix, positions.first
        self._source_counts = SourceCounts()
        self._tally: Tally | None = None
        self._tables = TableTally()
        self._signalling: Signalling | None = None
        if parts.listen is not None:
            self._signalling = parts.listen(start=start, progress=self.progress, log_offset=self._log_offset)
        self._handlers: dict[type[LogEvent], Callable[[Any], None]] = {
            # without signals a rows event costs nothing more
            RowsEvent: self._rows if self._signalling is None else partial(self._rows_beside, self._signalling),
            TableMapEvent: self._counted,
            Gtid: self.progress.mysql_gtid,
            TaggedGtid: self.progress.mysql_gtid,
            AnonymousGtid: self.progress.anonymous,
            MariaDbGtid: self._mariadb_gtid if told else self._untold_gtid,
            Query: self._statement,
            CompressedQuery: self._statement,
            LoadQuery: self._statement,
            RowsQuery: self._rows_query,
            AnnotateRows: self._rows_query,
            Xid: self._committed,
            XaPrepare: self._committed,
            Rotate: self._rotated,
            StatementContext: self._counted,
            Incident: self._incident,
        }
        filter_sources(self._handlers, config)

    def count_in(self, counts: SourceCounts) -> None:
        """From now on counts there; what is frequent only where that is wanted."""
        self.failures.counts = counts
        if self._conversions is not None:
            self._conversions.counts = counts
        self._source_counts = counts
        self._tally = new_tally() if counts.wanted else None

    def process(self, events: Iterator[LogEvent], most: int, end: LogOffset | None = None) -> bool:
        """Takes events until there is enough for a batch or `end` is reached; false when the events ran out before.

        Enough are `most` records, or records of so many bytes that more would only take memory.

        Raises:
            DecodeError: one cannot be understood; the message names the place and the table.
        """
        handler_of, progress = self._handlers.get, self.progress
        event: LogEvent | None = None
        try:
            for event in events:
                handle = handler_of(type(event))
                if handle is None:
                    progress.passed(event)
                else:
                    handle(event)
                if (
                    len(self.records) >= most
                    or self._bytes >= _MOST_BYTES
                    or (end is not None and progress.reached(end))
                ):
                    return True
        except DAMAGE as error:
            if event is None:
                raise
            raise misread(progress.file, event.start, event.whole(), error) from error
        return False

    def offset(self) -> LogOffset:
        """Where to go on once all records so far are safe."""
        return self._log_offset() if self._signalling is None else self._signalling.offset()

    def _log_offset(self) -> LogOffset:
        """The same without what signals have left to do."""
        offset = self.progress.offset()
        if self._transaction is None:
            return offset
        return offset.with_changes(transaction_id=self._transaction.identifier, counts=dict(self._transaction.counts))

    awaits = False
    """Whether batches that were begun at another server hold something that has not come yet."""

    def begun(self) -> BegunPlaces | None:
        """What the records hold of such batches; asked before they are taken."""
        return None

    @property
    def ended(self) -> bool:
        """Whether reading is not to go on from here."""
        return self._signalling is not None and self._signalling.ended

    def between(self) -> Iterator[Batch]:
        """What is to be delivered between two batches of the log, because signals ask for it."""
        return iter(()) if self._signalling is None else self._signalling.between()

    def further(self) -> LogOffset | None:
        """Where to read on to when the end is reached that was asked for; None: it is done."""
        return None if self._signalling is None else self._signalling.further()

    def _pause(self) -> None:
        """Ends the batch in hand."""
        self._bytes = _MOST_BYTES

    def take(self) -> list[Record]:
        """The records since the last call."""
        taken, self.records = self.records, []
        self._bytes = 0
        counts = self._source_counts
        self._tables.pour(counts)
        if self._tally is not None:
            pour(self._tally, counts)
            if taken:
                counts.event, counts.transaction = taken[-1].position or None, self.progress.gtid
        return taken if self._signalling is None else [*taken, *self._signalling.notifications()]

    # -- transactions

    def _mariadb_gtid(self, event: MariaDbGtid) -> None:
        self.progress.mariadb_gtid(event)
        self._begin(event, None, alone=event.standalone)

    def _untold_gtid(self, event: MariaDbGtid) -> None:
        """What an old replica is told of a MariaDB server's transaction: that it begins, on no thread."""
        self.progress.mariadb_gtid(event)
        self.progress.gtid = None
        if event.standalone:
            self._enter(event, None, alone=True)
        else:
            self._begin(event, 0)

    def _enter(self, event: LogEvent, thread: int | None, *, alone: bool = False) -> int:
        """A transaction begins; the first row number of its first event."""
        self._thread = thread
        self.progress.unannounced(event)
        self.progress.begin(event.start, alone=alone)
        return self._first_position(event)

    def _begin(self, event: LogEvent, thread: int | None, *, alone: bool = False) -> None:
        first = self._enter(event, thread, alone=alone)
        if not self._with_transactions:
            return
        identifier = self.progress.gtid or f"{NO_GTID}{self.progress.file},pos={event.start}"
        topic = self._versions.topics.transaction
        # Within a transaction that was begun before an interruption BEGIN was told then, and its rows go on counting
        # from where the offset says.
        counts = self._counts if self.progress.resuming else self.progress.events_told
        self._transaction = Transaction(topic, identifier, counts, self._transaction_schemas)
        if counts is None:
            position = record_position(self._prefix(event), first)
            self.records.append(self._transaction.begin(position, self.progress.time_us // 1000))

    def _committed(self, event: LogEvent) -> None:
        if self._transaction is not None and not self.progress.end_told:
            position = record_position(self._prefix(event), self._first_position(event))
            self.records.append(self._transaction.end(position, self.progress.time_us // 1000))
        if self._tally is not None:
            self._tally["commit"] += 1
        self._close(event)

    def _close(self, event: LogEvent) -> None:
        """The transaction, or the statement that stands alone, is over."""
        self._transaction = None
        self._query = self._thread = None
        # A transaction counts as read from its end on: until that has come, all of it may come again.
        self.progress.commit(event.end)
        if self._signalling is not None and self._signalling.blocks:
            self._pause()

    # -- rows

    def _counted(self, _event: LogEvent) -> None:
        self.progress.events_done += 1

    def _rows_query(self, event: RowsQuery | AnnotateRows) -> None:
        if self._with_query:
            # It stays for all rows events of the statement, and is forgotten at the transaction's end alone: a server
            # that writes statements writes one before each.
            self._query = event.sql
        self.progress.events_done += 1

    def _rows(self, event: RowsEvent) -> None:
        first_position = self._first_position(event)
        if not self.progress.skips():
            self._captured_rows(event, first_position)
        self.progress.events_done += 1

    def _rows_beside(self, signalling: Signalling, event: RowsEvent) -> None:
        """The same where signals are listened to: a chunk that the event ends is given out before its own records."""
        first_position = self._first_position(event)
        if not self.progress.skips():
            if signalling.hears(event.table):
                self._hear(signalling, event, first_position)
            rows = self._captured_rows(event, first_position)
            if rows:
                signalling.changed(event, rows)
        self.progress.events_done += 1

    def _hear(self, signalling: Signalling, event: RowsEvent, first_position: int) -> None:
        # These records stand in commit order before the event's own, and leave those where they were: behind the
        # announcement of the table; in a compressed transaction, whose events share their position, within the row
        # numbers of the event before.
        if first_position:
            prefix, number = self._prefix(event), first_position - EVENT_ROWS // 2
        else:
            prefix, number = LogPosition(self.progress.epoch, self.progress.file, event.start).prefix, 0
        heard = signalling.heard(event, prefix, number, self._thread)
        if heard is not None:
            self.records += heard
            self._pause()

    def _captured_rows(self, event: RowsEvent, first_position: int) -> Sequence[Any]:
        """Makes the records of an event; gives its rows, or none of a table that is not captured."""
        if self._conversions is not None:
            self._conversions.place = f"{self.progress.file}:{event.start}"
        try:
            parts = self._decoders.decoded(event)
        except DAMAGE as error:
            place = f"{self.progress.file}:{event.start}"
            self.failures.met(error, event.table, place, partial(self._undecoded, event, first_position))
            return ()
        if len(parts) == 1 and parts[0][2] is event:
            return self._made(parts[0], first_position)
        return self._made_of_parts(parts, event.change, first_position)

    def _made_of_parts(self, parts: Sequence[DecodedRows], change: Change, first_position: int) -> Sequence[Any]:
        """Makes the records of the parts of a change; gives its rows, pairs where it is one of updates."""
        shown: list[Any] = []
        for part in parts:
            made = self._made(part, first_position)
            _, _, event, rows = part
            shown += made if event.change == change else zip(made, made, strict=True)
            first_position += len(rows)
        return shown

    def _made(self, decoded: DecodedRows, first_position: int) -> Sequence[Any]:
        """Makes the records of rows; gives those that are told of."""
        maker, lacking, event, rows = decoded
        if maker is None or not rows:
            if self._tally is not None:
                self._tally["filtered"] += 1
            return ()
        self._bytes += event.data_end - event.data_start
        # A server gives whole transactions, so the event comes again in which a batch ended. What was told of it is
        # counted by rows, not by records: filters and transforms may make none or several of one.
        skip = self.progress.rows_to_skip(maker.name, len(rows))
        source = self._source(maker.table, event)
        blocks = self._transaction.blocks(maker.name) if self._transaction is not None else None
        shown = rows[skip:] if skip else rows
        rest = self._rest_of_row(maker, event, rows[skip - 1 : skip], source, first_position) if skip else ()
        records = maker.records[event.change](shown, source, self._prefix(event), skip, first_position + skip, blocks)
        if rest:
            records = [*rest, *records]
        if lacking is not None:
            records = maker.marked(records, lacking)
        self._tables[maker.name][event.change] += len(shown)
        self._tell(records, maker.name, len(shown), first_position + skip)
        return shown

    def _tell(self, records: Sequence[Record], table: str, rows: int, first_position: int) -> None:
        """Gives out the records of so many rows of a table, of which the first has the number that is named."""
        if self.row_ends is not None:
            self.row_ends.note(self._log_offset(), self.progress, records, table, first_position)
        self.records += records
        told = self.progress.rows_told
        told[table] = told.get(table, 0) + rows

    def _undecoded(self, event: RowsEvent, first_position: int, reason: str) -> Undecoded:
        facts = RowsFacts.of(event, self.progress, first_position, self._thread, self._query)
        topic = self._versions.topics.data(TableId(event.table.database, event.table.name))
        return undecoded(event, facts, topic, self._definitions.of(event.table), reason)

    def again(self, event: RowsEvent, facts: RowsFacts) -> list[Record]:
        """The records of an event that was given away; raises as `process`."""
        self.progress.gtid, self.progress.time_us = facts.gtid, facts.time_us
        self._thread, self._query = facts.thread, facts.query
        self._captured_rows(event, facts.first)
        return self.take()

    def _rest_of_row(
        self, maker: RowMaker, event: RowsEvent, row: Sequence[Any], source: Struct, first_position: int
    ) -> list[Record]:
        """The records but the first of a row that was told before reading was interrupted, where they may be left."""
        number = self.progress.row_in_part()
        if number is None or not row:
            return []
        blocks = None
        if self._transaction is not None:
            counts = dict(self._transaction.counts)
            counts[maker.name] = max(0, counts.get(maker.name, 0) - _EVENTS_OF_A_KEY_CHANGE)
            blocks = Transaction("", self._transaction.identifier, counts, self._transaction_schemas).blocks(maker.name)
        make = maker.records[event.change]
        return make(row, source, self._prefix(event), number, first_position + number, blocks)[1:]

    def _source(self, table: TableId, event: LogEvent) -> Struct:
        progress, server_id = self.progress, event.header[_SERVER_ID]
        place = (progress.time_us, progress.file, event.start, None, server_id, progress.gtid)
        return self._block(table, *place, self._thread, self._query)

    # -- statements

    def _statement(self, event: Query) -> None:
        if event.is_begin:
            self._begin(event, event.thread_id)
            return
        keyword = event.keyword
        if keyword in _ENDS:
            self._end_by_statement(event, keyword)
        elif keyword == "XA":
            self._xa(event)
        elif self._definitions.changes_rows(event):
            self._definitions.refuse_row_change(event, f"{self.progress.file}:{event.start}")
            self._stood(event)
        else:
            self.progress.unannounced(event)
            self._change_definitions(event)
            self._stood(event)

    def _end_by_statement(self, event: Query, keyword: str) -> None:
        """COMMIT ends a transaction of an engine without transactions; ROLLBACK may go to a savepoint only."""
        if keyword == "COMMIT" or " TO " not in f"{event.sql.upper()} ":
            self._committed(event)
            if self._tally is not None and keyword == "ROLLBACK":
                self._tally["commit"] -= 1
                self._tally["rollback"] += 1
        else:
            self._counted(event)

    def _xa(self, event: Query) -> None:
        """Changes of an XA transaction are told when it is prepared, without metadata or thread, as Debezium does."""
        words = event.sql.upper().split()[1:2]
        if words in (["START"], ["BEGIN"]) and not self.progress.in_transaction:
            self.progress.unannounced(event)
            self.progress.begin(event.start)
        elif words in (["START"], ["BEGIN"], ["END"]):
            self._counted(event)
        else:
            self._close(event)

    def _stood(self, event: Query) -> None:
        """A statement within a transaction is one of its events; one that stands alone is all of it."""
        if self.progress.in_transaction and not self.progress.alone:
            self.progress.events_done += 1
        else:
            self._close(event)

    def _change_definitions(self, event: Query) -> None:
        first = self._first_position(event)
        position = LogPosition(self.progress.epoch, self.progress.file, event.end)
        # Definitions change also where the statement was told before: reading has begun at the transaction's begin,
        # with the definitions of there. Only records and marks are left out then.
        changes: Sequence[SchemaChange] = ()
        if not self.progress.alters_nothing:
            known = self._definitions.changes
            changes = self._definitions.apply(event, position, lambda: self._offset_behind(event))
            if self._signalling is not None and self._definitions.changes != known:
                # Rows that were read by the old definition are no rows of the new one: the chunk in hand is read again.
                self._signalling.redefined()
        if self.progress.skips():
            return
        before, statements, prefix = len(self.records), self._statements, position.prefix
        self.marks += statements.marks(changes, prefix, first, self.progress.time_us // 1000)
        if any(mark.kind is MarkKind.ALTER for mark in self.marks):  # so that all by the old one has an end
            self._pause()
        for table in statements.emptied(changes):
            self.records.append(self._truncation(table, event, prefix, first))
        self.records += statements.schema_changes(
            changes,
            lambda table: self._source(table, event),
            self._offset_behind(event),
            first + len(self.records) - before,
        )

    def _offset_behind(self, event: Query) -> LogOffset:
        """Where a statement that stands alone ends."""
        return self.offset().with_changes(file=self.progress.file, pos=event.end)

    def _truncation(self, table: Table, event: Query, prefix: str, first: int) -> Record:
        """The record of a table that was emptied (op `t`)."""
        source = self._source(table.id, event)
        blocks = self._transaction.blocks(str(table.id)) if self._transaction is not None else None
        self._tables[str(table.id)]["truncate"] += 1
        return self._versions.of(table).events.truncate(source, prefix, first, blocks)

    # -- the log itself

    def _rotated(self, event: Rotate) -> None:
        if event.artificial:
            self.progress.reads(event.file)
        else:
            self.progress.rotate(event.file, event.position)

    def _incident(self, event: Incident) -> None:
        raise DecodeError(
            f"{self.progress.file}:{event.start}: the server says that its log has a gap ({event.message}): "
            "changes are lost; take a new snapshot with a new state folder",
            number="CDC5103",
        )


_ENDS = frozenset({"COMMIT", "ROLLBACK"})
