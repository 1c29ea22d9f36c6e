"""The ledger of a pipeline on Spark: tasks add up what they read, and the driver what the tasks of a batch tell.

A batch is whole, or it comes again: nothing is kept of one that the driver has not added up to its end.
"""

from __future__ import annotations

from collections.abc import Iterable

from cdckit.api.marks import MarkKind
from cdckit.api.record import Offset
from cdckit.engine.ledger.marked import Marked
from cdckit.engine.ledger.record_rows import RecordLedger, changed
from cdckit.engine.ledger.steps import Emptied, Known, Reached, RowsRead, Spoilt, Step
from cdckit.engine.ledger.sums import Sums
from cdckit.engine.ledger.table import TableLedger

_OTHERWISE = "its rows began, and it got other columns or other changes, in one batch of Spark"


class SplitLedger(RecordLedger):
    """Adds up what tasks tell.

    Args:
        state: where it is kept.
        saved: the offset that the pipeline had come to.
        lists: which tables are captured.
        left_out: why rows of a table from before the pipeline are not told of; None: they are.
        layouts: how rows become texts.
        rows: where rows are known by their keys.
        log: where the source's log is: tables are read in parts beside each other, behind the place that it is
            followed from.
        mirrors: whether the sink's tables follow what happens to whole tables.
    """

    def load(self, saved: Offset | None) -> None:
        """Goes on from an offset: a batch begins there."""
        super().load(saved)
        for table in self._tables.values():
            # Of a snapshot that another runner has broken off all rows come again.
            table.reading = table.interrupted = False
        self._read_rows = False
        self._know()

    def begin_anew(self) -> None:
        """The log is lost, and all rows are read again."""
        super().begin_anew()
        self._know()

    def _know(self) -> None:
        tables = self._tables.items()
        forms = {topic: table.form for topic, table in tables if table.form is not None}
        self.known = Known(self._is_open, forms, frozenset(topic for topic, table in tables if table.keyed))

    # -- what comes

    def take_steps(self, steps: Iterable[Step]) -> Iterable[Marked]:
        """Takes what one task tells; gives the marks that count once the batch is whole."""
        ends = []
        for step in steps:
            if isinstance(step, Marked) and step.kind is MarkKind.SNAPSHOT_END:
                ends.append(step)
            else:
                self._take_step(step)
        return ends

    def _take_step(self, step: Step) -> None:
        match step:
            case RowsRead():
                self._take_rows(step)
            case Marked():
                self._mark(step)
            case Emptied():
                self._emptied(step.topic)
            case Spoilt():
                self._table(step.topic).spoil(step.why)
            case Reached():
                for lane, position in step.lanes.items():
                    self._reached[lane] = max(position, self._reached.get(lane, ""))

    def _take_rows(self, step: RowsRead) -> None:
        table = self._table(step.topic)
        first = table.form is None
        self._read_rows = self._read_rows or step.reading
        for source in step.sources:
            self._begin(table, "r" if step.reading else "u", source, step.form)
            if table.pending.emptied:
                table.settle()
                first = True
            if first and self._keeps_keys(step.topic, reading=step.reading):
                self._keep_keys(step.topic, table, reading=step.reading)
            first = False
            self._note_key(table, step.form, step.key)
            self._note_source(table, source)
        self._add_step(table, step)

    def _add_step(self, table: TableLedger, step: RowsRead) -> None:
        form = table.form
        if table.void or form is None:
            return
        if not form.covers(step.form):
            table.spoil(changed(form, step.form, step.position))
        elif form.columns.keys() != {*step.names} or table.keyed != step.keyed:
            table.spoil(_OTHERWISE)
        elif step.keyed:
            self._keyed.apply(step.topic, step.by_keys())
            table.changed = True
        else:
            pending = table.pending
            pending.sums = pending.sums or Sums()
            pending.sums.add_all(step.sums)

    def _keeps_keys(self, topic: str, *, reading: bool) -> bool:
        """As the tasks were told, which tell by keys or by sums."""
        return self.known.by_keys(topic, reading=reading)

    def _begun(self, table: TableLedger, mark: Marked) -> None:
        """Rows of a snapshot that come before its mark are part of it."""
        reading = mark.kind is MarkKind.SNAPSHOT_BEGIN
        self._read_rows = self._read_rows or reading
        if not (reading and table.reading):
            super()._begun(table, mark)

    # -- how far it is

    def saving_whole(self, offset: Offset, application: str, batch: int, ends: Iterable[Marked]) -> None:
        """All that tasks tell of a batch was taken: keeps what goes with the offset behind it.

        Args:
            offset: the offset.
            application: by what name the batches are known in tables.
            batch: its number.
            ends: the marks that `take_steps` gave.

        Raises:
            StateError: it cannot be kept.
        """
        for mark in ends:
            self._mark(mark)
        if self._read_rows or not self._ended:
            self._read_out()
        for table in self._tables.values():
            table.read()
        self._settled |= self._reached
        self._reached = {}
        self.saving_batch(offset, application, batch)
        self._read_rows = False
        self._know()

    @property
    def number(self) -> int:
        """The number under which it was saved last."""
        return self._last

    def close(self) -> None:
        """Lets the rows go that are known by their keys."""
        self._keyed.close()
