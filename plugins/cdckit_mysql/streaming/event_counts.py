"""How many events each table has in a large transaction, for the metadata of those who begin to read within it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cdckit import CdcError
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.integrity import DAMAGE
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.row_decoders import DecodedRows
from cdckit_mysql.table import Tables

MakeCounting = Callable[[LogOffset, Tables], LogProcessor]
"""Makes what counts, from a place and the definitions there on; it stops at what it cannot read."""
_RECORDS = 2000
_UNREADABLE: tuple[type[Exception], ...] = (CdcError, *DAMAGE)


class CountingProcessor(LogProcessor):
    """Counts the events that rows would make, and makes none of them."""

    def _made(self, decoded: DecodedRows, first_position: int) -> Sequence[Any]:
        maker, _, event, rows = decoded
        if maker is not None and rows and self._transaction is not None:
            made = maker.updates_made(rows) if event.change == "update" else len(rows)
            self._transaction.count(maker.name, made)
        return ()


class EventCounts:
    """Counts the events that a reader makes of one transaction, as filters and rows decide.

    Args:
        make: makes what makes them.
        at: where the transaction begins.
        tables: the definitions there.
        checksums: whether its events end in checksums.
    """

    def __init__(self, make: MakeCounting, at: LogOffset, tables: Tables, *, checksums: bool) -> None:
        self._processor = make(at, tables.copy())
        self._parser = EventParser(at.file, at.pos, checksums=checksums)

    def take(self, span: Span) -> bool:
        """Takes the transaction's next event; false where that cannot be read, which its reader will tell."""
        try:
            events = self._parser.events([span])
            while self._processor.process(events, _RECORDS):
                self._processor.take()
        except _UNREADABLE:
            return False
        return True

    @property
    def counts(self) -> Mapping[str, int]:
        """How many events each table (`database.table`) has had so far."""
        return self._processor.offset().counts
