"""What is taken from records in order: by the ledger itself, and by tasks that tell it of what they read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from cdckit.api.marks import RoutedMark
from cdckit.api.record import UNAVAILABLE_HEADER, Record, lane_of
from cdckit.api.struct import Struct
from cdckit.engine.ledger.gathered import parts
from cdckit.engine.ledger.layouts import Layout, Layouts
from cdckit.engine.ledger.marked import Marked, marked
from cdckit.tables.shapes import EnvelopeShape, carries_rows, shape_of

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
            for record in part:
                self._take_record(record)
            if mark is not None:
                self._cut()
                self._mark(marked(mark, self._layouts))
        if self._count >= GATHERED:
            self._add_up()

    def _take_record(self, record: Record) -> None:
        lane = lane_of(record.position)
        if record.position > self._reached.get(lane, ""):
            self._reached[lane] = record.position
        value = record.value
        if not isinstance(value, Struct):
            return
        shape = shape_of(value.schema)
        if shape is None:
            if carries_rows(value.schema):
                self._spoil(record.topic, _NO_ROWS)
        elif value["op"] == "t":
            self._cut()
            self._emptied(record.topic)
        elif not isinstance(record.key, Struct):
            self._spoil(record.topic, _NO_KEY)
        elif value["source"].get("snapshot") != INCREMENTAL:
            self._take_row(record, value, shape, record.key)

    def _look_for_holes(self, record: Record) -> None:
        if record.headers and record.header(UNAVAILABLE_HEADER) is not None:
            self._spoil(record.topic, lacking(record.position))

    def _image(self, record: Record, shape: EnvelopeShape, layout: Layout, key: Struct, *, before: bool) -> Any:
        """The row, or the document, before or behind a change, as its layout has it; None where it is not told."""
        value = record.value
        assert isinstance(value, Struct)
        image = (shape.document if shape.has_documents else shape.image)(value, before=before)
        if image is None:
            why = f"the change at position {record.position} does not tell the row {_WHEN[before]} it"
            self._spoil(record.topic, why)
            return None
        return layout.row(key, image)

    @abstractmethod
    def _take_row(self, record: Record, value: Struct, shape: EnvelopeShape, key: Struct) -> None:
        """Takes a change of a row."""

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


def lacking(position: str) -> str:
    """What is said where an event lacks values of its row."""
    return f"the log did not carry all values of a row at position {position} (binlog_row_image)"


def source_of(source: Any) -> str:
    """The full name of the table or collection that an event's source block names."""
    return f"{source.get('db')}.{source.get('table') or source.get('collection')}"
