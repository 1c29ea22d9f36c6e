"""The rows of a task's records as steps for the driver: the same hashes as those of a pipeline in one process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdckit.api.record import Record
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct
from cdckit.engine.ledger.gathered import GatheredRows, key_hash
from cdckit.engine.ledger.layouts import Layouts
from cdckit.engine.ledger.marked import Marked
from cdckit.engine.ledger.record_taker import RecordTaker, source_of
from cdckit.engine.ledger.row_form import digest
from cdckit.engine.ledger.steps import CHANGE_BYTES, Emptied, Known, Reached, RowsRead, Spoilt, Step
from cdckit.tables.shapes import EnvelopeShape

_MOST_BYTES = 1 << 20
"""So much is told by keys before it is handed over."""


@dataclass(frozen=True, slots=True)
class _Open:
    """Rows that are not hashed yet, and what they become."""

    told: RowsRead
    rows: GatheredRows


class TaskRows(RecordTaker):
    """Takes the records of one task at a time, behind the transforms.

    Args:
        layouts: how rows become texts.
    """

    def __init__(self, layouts: Layouts) -> None:
        self._layouts = layouts
        self.begin(Known(False, {}, frozenset()))

    def begin(self, known: Known) -> None:
        """Another task begins; what the last one left behind is forgotten.

        Args:
            known: what the ledger has before the batch.
        """
        self._known = known
        self._steps: list[Step] = []
        self._reached: dict[str, str] = {}
        self._open: dict[tuple[str, Schema, Schema, bool], _Open] = {}
        self._spoilt: set[str] = set()
        """Until a mark may make it good."""
        self._count = self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether it is time to hand over what there is."""
        return self._bytes >= _MOST_BYTES

    def steps(self) -> list[Step]:
        """What was taken since the last call."""
        self._cut()
        steps, self._steps = [*self._steps, Reached(self._reached)], []
        self._reached, self._bytes = {}, 0
        return steps

    def _take_row(self, record: Record, value: Struct, shape: EnvelopeShape, key: Struct) -> None:
        op = value["op"]
        opened = self._opened(record, shape, key, reading=op == "r")
        opened.told.sources.setdefault(source_of(value["source"]))
        self._look_for_holes(record)
        rows, keyed = opened.rows, opened.told.keyed
        put = op == "d" or self._take_image(record, shape, key, opened, rows.put, before=False)
        if keyed:
            if put:
                rows.keyed.append((key_hash(key), -1 if op == "d" else len(rows.put) - 1))
                self._count += 1
        elif op in "ud":
            self._take_image(record, shape, key, opened, rows.gone, before=True)

    def _take_image(
        self, record: Record, shape: EnvelopeShape, key: Struct, opened: _Open, into: list[Any], *, before: bool
    ) -> bool:
        row = self._image(record, shape, opened.rows.layout, key, before=before)
        if row is None:
            return False
        into.append(row)
        self._count += 1
        return True

    def _opened(self, record: Record, shape: EnvelopeShape, key: Struct, *, reading: bool) -> _Open:
        named = record.topic, shape.row, key.schema, reading
        found = self._open.get(named)
        if found is None:
            layout, topic = self._layouts(shape.row, key.schema), record.topic
            columns, known = layout.form.columns, self._known.forms.get(topic)
            # Columns that came later than those that are added up are left out; a snapshot begins anew with all.
            if known is not None and not reading and known.covers(layout.form):
                columns = known.columns
            keyed = self._known.by_keys(topic, reading=reading)
            identified = tuple(one.name for one in key.schema.fields)
            parts = topic, dict[str, None](), reading, layout.form, tuple(columns), identified, record.position, keyed
            found = self._open[named] = _Open(RowsRead(*parts), GatheredRows(record.position, layout))
        return found

    def _mark(self, mark: Marked) -> None:
        self._spoilt.clear()
        self._steps.append(mark)

    def _emptied(self, topic: str) -> None:
        self._steps.append(Emptied(topic))

    def _spoil(self, topic: str, why: str) -> None:
        if topic in self._spoilt:
            return
        self._spoilt.add(topic)
        self._cut()
        self._steps.append(Spoilt(topic, why))

    def _add_up(self) -> None:
        for opened in self._open.values():
            told, rows = opened.told, opened.rows
            put = [*map(digest, rows.layout.texts(rows.put, told.names))]
            if told.keyed:
                for key, number in rows.keyed:
                    told.change(key, None if number < 0 else put[number])
                self._bytes += len(rows.keyed) * CHANGE_BYTES
            else:
                told.sums.add(put)
                told.sums.remove([*map(digest, rows.layout.texts(rows.gone, told.names))])
            rows.put, rows.gone, rows.keyed = [], [], []
        self._count = 0

    def _cut(self) -> None:
        super()._cut()
        self._steps += (opened.told for opened in self._open.values())
        self._open = {}
