"""What is taken from records in order: by the ledger itself, and by tasks that tell it of what they read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from cdckit.api.marks import RoutedMark
from cdckit.api.record import LANE_END, UNAVAILABLE_HEADER, Record, lane_of
from cdckit.api.struct import Struct
from cdckit.engine.ledger.changes import Changes, alike
from cdckit.engine.ledger.gathered import parts
from cdckit.engine.ledger.layouts import Layout, Layouts
from cdckit.engine.ledger.marked import Marked, marked
from cdckit.tables.shapes import carries_rows, shape_of

GATHERED = 2000
"""So many rows are hashed together."""
INCREMENTAL = "incremental"
_NO_KEY = "its records have no key, so that its rows cannot be told apart"
_NO_ROWS = "its values are no change events with rows: a transform made others"
_WHEN = {True: "before", False: "after"}


class RecordTaker(ABC):
    """Takes records, and what happened to whole tables among them."""

    _layouts: Layouts
    _reached: dict[str, str]
    """By lane the position of the last record."""
    _count: int
    """How many rows are not hashed yet."""

    def take_records(self, records: Sequence[Record], marks: Sequence[RoutedMark] = ()) -> None:
        """Takes records in order, and what happened to whole tables among them."""
        for part, mark in parts(records, marks):
            for group in alike(part):
                self._take_group(group)
            if mark is not None:
                self._cut()
                self._mark(marked(mark, self._layouts))
        if self._count >= GATHERED:
            self._add_up()

    def _take_group(self, records: Sequence[Record]) -> None:
        self._note_reached(records)
        record = records[0]
        value = record.value
        if not isinstance(value, Struct):
            return
        shape = shape_of(value.schema)
        if shape is None:
            if carries_rows(value.schema):
                self._spoil(record.topic, _NO_ROWS)
            return
        changes = Changes(records, shape)
        if changes.op == "t":
            self._cut()
            self._emptied(record.topic)
        elif not isinstance(record.key, Struct):
            self._spoil(record.topic, _NO_KEY)
        elif changes.source.get("snapshot") != INCREMENTAL:
            self._take_changes(changes)

    def _note_reached(self, records: Sequence[Record]) -> None:
        reached = self._reached
        for record in records if LANE_END in records[0].position else (max(records, key=_position),):
            lane = lane_of(record.position)
            if record.position > reached.get(lane, ""):
                reached[lane] = record.position

    def _look_for_holes(self, record: Record) -> None:
        if record.headers and record.header(UNAVAILABLE_HEADER) is not None:
            self._spoil(record.topic, lacking(record.position))

    def _images(self, changes: Changes, layout: Layout, *, before: bool) -> Sequence[Any]:
        """The rows, or the documents, before or behind changes, as their layout has them; none if one is not told."""
        images = changes.images(before=before)
        for number in range(len(images)) if not all(images) else ():
            if images[number] is None:
                record = changes.records[number]
                why = f"the change at position {record.position} does not tell the row {_WHEN[before]} it"
                self._spoil(record.topic, why)
                return ()
        return layout.rows(changes.keys, images)

    @abstractmethod
    def _take_changes(self, changes: Changes) -> None:
        """Takes changes of rows."""

    @abstractmethod
    def _add_up(self) -> None:
        """Hashes what is gathered."""

    def _cut(self) -> None:
        """What comes from here on comes behind what was taken."""
        self._add_up()

    @abstractmethod
    def _mark(self, mark: Marked) -> None:
        """Something happened to a whole table."""

    @abstractmethod
    def _emptied(self, topic: str) -> None:
        """All rows of a topic are gone."""

    @abstractmethod
    def _spoil(self, topic: str, why: str) -> None:
        """The sums of a topic tell nothing from here on."""


def _position(record: Record) -> str:
    return record.position


def lacking(position: str) -> str:
    """What is said where an event lacks values of its row."""
    return f"the log did not carry all values of a row at position {position} (binlog_row_image)"


def source_of(source: Any) -> str:
    """The full name of the table or collection that an event's source block names."""
    return f"{source.get('db')}.{source.get('table') or source.get('collection')}"
