"""Rows events that cannot be decoded, as they are given away and come back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from cdckit import DecodeError, Undecoded
from cdckit.connector.damage import reason_of
from cdckit_mysql.binlog.integrity import DAMAGE
from cdckit_mysql.binlog.place import HEADER, HEADER_SIZE
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.binlog.tables import read_table_map
from cdckit_mysql.offsets import LogOffset, LogPosition, record_position
from cdckit_mysql.streaming.progress import LogProgress
from cdckit_mysql.table import Table

_TABLE, _ROWS = "table_map", "rows"
"""What the raw bytes are called: the body of the TABLE_MAP, and the whole event without its checksum."""


@dataclass(frozen=True, slots=True)
class RowsFacts:
    """What the records of a rows event take from its surroundings.

    Attributes:
        file: the log file.
        start: where in it the event begins.
        end: where it ends.
        epoch: see `LogOffset`.
        first: the number of its first row among those that share its position.
        gtid: its transaction's, or None.
        time_us: when that was committed, in microseconds since 1970.
        thread: the thread that wrote it, where that is told.
        query: the statement that wrote it, where that is wanted.
    """

    file: str
    start: int
    end: int
    epoch: int
    first: int
    gtid: str | None
    time_us: int
    thread: int | None
    query: str | None

    @classmethod
    def of(
        cls, event: RowsEvent, progress: LogProgress, first: int, thread: int | None, query: str | None
    ) -> RowsFacts:
        """Those of an event where the reading is now."""
        place = (progress.file, event.start, event.end, progress.epoch)
        return cls(*place, first, progress.gtid, progress.time_us, thread, query)

    @property
    def offset(self) -> LogOffset:
        """The place in the log."""
        return LogOffset(self.file, self.start, epoch=self.epoch)


def undecoded(event: RowsEvent, facts: RowsFacts, topic: str, definition: Table | None, reason: str) -> Undecoded:
    """An event as it is given away.

    Args:
        event: the event.
        facts: its surroundings.
        topic: its records'.
        definition: the table's, as far as it is known there.
        reason: what is wrong.
    """
    position = record_position(LogPosition(facts.epoch, facts.file, event.end).prefix, facts.first)
    told = {**asdict(facts), "definition": None if definition is None else definition.to_json()}
    return Undecoded(position, topic, reason, {_TABLE: event.table.body, _ROWS: event.whole()}, told)


def rows_of(piece: Undecoded) -> tuple[RowsEvent, RowsFacts, Table | None]:
    """The event that was given away, its surroundings, and the table's definition there.

    Raises:
        DecodeError: it was none of this source's, or cannot be understood.
    """
    try:
        told: dict[str, Any] = dict(piece.facts)
        definition = told.pop("definition")
        facts = RowsFacts(**told)
        table, data = piece.raw[_TABLE] or b"", piece.raw[_ROWS] or b""
        event = RowsEvent(HEADER.unpack_from(data), facts.start, facts.end, data, HEADER_SIZE, len(data))
        event.read_post_header()
        event.table = read_table_map(table)
        return event, facts, None if definition is None else Table.from_json(definition)
    except DAMAGE as error:
        reason = str(error) if isinstance(error, DecodeError) else reason_of(error)
        raise DecodeError(f"what was kept is no rows event of a log: {reason}") from error
