"""The rows of a task's records as steps for the driver: the same hashes as those of a pipeline in one process."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit.api.schema import Schema
from cdckit.engine.ledger.changes import Changes
from cdckit.engine.ledger.gathered import GatheredRows
from cdckit.engine.ledger.layouts import Layouts
from cdckit.engine.ledger.marked import Marked
from cdckit.engine.ledger.record_taker import RecordTaker, source_of
from cdckit.engine.ledger.steps import CHANGE_BYTES, Emptied, Known, Reached, RowsRead, Spoilt, Step

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

    def _take_changes(self, changes: Changes) -> None:
        op = changes.op
        opened = self._opened(changes, reading=op == "r")
        opened.told.sources.setdefault(source_of(changes.source))
        self._look_for_holes(changes.records[0])
        rows, keyed = opened.rows, opened.told.keyed
        put = () if op == "d" else self._images(changes, rows.layout, before=False)
        if keyed and (put or op == "d"):
            rows.note_keys(changes.keys, gone=op == "d")
            self._count += len(changes.records)
        gone = self._images(changes, rows.layout, before=True) if op in "ud" and not keyed else ()
        rows.put += put
        rows.gone += gone
        self._count += len(put) + len(gone)

    def _opened(self, changes: Changes, *, reading: bool) -> _Open:
        topic, row, key = changes.topic, changes.shape.row, changes.key
        found = self._open.get((topic, row, key, reading))
        if found is None:
            layout = self._layouts(row, key)
            columns, known = layout.form.columns, self._known.forms.get(topic)
            # Columns that came later than those that are added up are left out; a snapshot begins anew with all.
            if known is not None and not reading and known.covers(layout.form):
                columns = known.columns
            keyed = self._known.by_keys(topic, reading=reading)
            identified, position = tuple(one.name for one in key.fields), changes.position
            parts = topic, dict[str, None](), reading, layout.form, tuple(columns), identified, position, keyed
            found = self._open[topic, row, key, reading] = _Open(RowsRead(*parts), GatheredRows(position, layout))
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
            put = rows.layout.hashes(rows.put, told.names)
            if told.keyed:
                for key, number in rows.keyed:
                    told.change(key, None if number < 0 else put[number])
                self._bytes += len(rows.keyed) * CHANGE_BYTES
            else:
                told.sums.add(put)
                told.sums.remove(rows.layout.hashes(rows.gone, told.names))
            rows.put, rows.gone, rows.keyed = [], [], []
        self._count = 0

    def _cut(self) -> None:
        super()._cut()
        self._steps += (opened.told for opened in self._open.values())
        self._open = {}
