"""The log's events become records where some were delivered in part before, at another server: it says which."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

from cdckit import Batch, BegunPlaces, Record, TableMark
from cdckit_mysql.binlog.events import LogEvent, MariaDbGtid
from cdckit_mysql.binlog.query import Query
from cdckit_mysql.offsets import row_number
from cdckit_mysql.streaming.begun_batches import BegunBatch, Ends, begun_elsewhere
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.processor_parts import ProcessorParts

log = logging.getLogger("cdckit.mysql")


class RepeatingProcessor(LogProcessor):
    """Of what signals ask for it says nothing: rows that they have read again are read anew.

    Args:
        ends: where the batches end that were begun.
        parts: those of any other processor.
    """

    def __init__(self, ends: Ends, parts: ProcessorParts) -> None:
        super().__init__(parts)
        config, start, mariadb = parts.config, parts.start, parts.definitions.mariadb
        self._batches = {number: BegunBatch(end, start, config, mariadb=mariadb) for number, end in ends.items()}
        self._held: dict[str, Sequence[int]] = {}
        self.awaits = True
        log.info("tables have a part of what was read at another server: until it has come again nothing is written")

    def begun(self) -> BegunPlaces | None:
        """The places of what was told since it was asked last, until all has come."""
        if not self.awaits:
            return None
        held, self._held = self._held, {}
        self.awaits = not all(batch.has_come(self.progress) for batch in self._batches.values())
        if not self.awaits:
            self._batches.clear()
        return BegunPlaces(held, ended=not self.awaits)

    def between(self) -> Iterator[Batch]:
        """What signals ask for, once all has come: rows that are read before it are in no saved offset for long."""
        return iter(()) if self.awaits else super().between()

    def _enter(self, event: LogEvent, thread: int | None, *, alone: bool = False) -> int:
        for batch in self._batches.values():
            if isinstance(event, MariaDbGtid):
                batch.check(event)
        return super()._enter(event, thread, alone=alone)

    def _begin(self, event: LogEvent, thread: int | None, *, alone: bool = False) -> None:
        before = len(self.records)
        super()._begin(event, thread, alone=alone)
        self._hold(self.records[before:], [n for n, batch in self._batches.items() if batch.holds(self.progress)])

    def _committed(self, event: LogEvent) -> None:
        before = len(self.records)
        holding = [n for n, batch in self._batches.items() if batch.holds_end(self.progress)]
        super()._committed(event)
        self._hold(self.records[before:], holding)

    def _change_definitions(self, event: Query) -> None:
        before, marks = len(self.records), len(self.marks)
        super()._change_definitions(event)
        told: list[Record | TableMark] = [*self.records[before:], *self.marks[marks:]]
        self._hold(told, [n for n, batch in self._batches.items() if batch.holds(self.progress)])

    def _tell(self, records: Sequence[Record], table: str, rows: int, first_position: int) -> None:
        before = self.progress.rows_told.get(table, 0) - first_position
        super()._tell(records, table, rows, first_position)
        batches, progress = self._batches.items(), self.progress
        for record in records if batches else ():
            row = before + row_number(record.position)
            self._hold([record], [n for n, batch in batches if batch.holds_row(progress, table, row)])

    def _hold(self, told: Iterable[Record | TableMark], batches: Sequence[int]) -> None:
        """Notes which batches hold what was told."""
        if batches:
            self._held.update((one.position, batches) for one in told)


def processor_of(ends: Ends, parts: ProcessorParts) -> LogProcessor:
    """The processor of a log in which batches end that were begun, if not all of them at the same server."""
    elsewhere = begun_elsewhere(ends, parts.start)
    return RepeatingProcessor(elsewhere, parts) if elsewhere else LogProcessor(parts)
