"""The ledger of a pipeline whose rows are taken from its records: of a sink that keeps tables, for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

from cdckit.api.batch import Batch
from cdckit.api.marks import MarkKind
from cdckit.api.record import Offset
from cdckit.api.schema import Schema
from cdckit.engine.ledger.changes import Changes
from cdckit.engine.ledger.gathered import GatheredRows
from cdckit.engine.ledger.kept import Writable
from cdckit.engine.ledger.layouts import Layout, Layouts
from cdckit.engine.ledger.ledger import Ledger
from cdckit.engine.ledger.marked import Marked
from cdckit.engine.ledger.record_taker import RecordTaker, source_of
from cdckit.engine.ledger.row_form import RowForm
from cdckit.engine.ledger.table import TableLedger
from cdckit.engine.ledger.window import KeyedRows
from cdckit.errors import CdcError

_SEVERAL = "its rows are those of several tables, one of which was emptied"


class Log(Protocol):
    """What of a source says where its log is."""

    def log_end(self, offset: Offset) -> Offset:
        """Where it ends now, behind an offset that may not be saved yet."""

    def passed(self, offset: Offset, point: Offset) -> bool:
        """Whether all before `point` lies before `offset`."""


class RecordLedger(RecordTaker, Ledger):
    """Adds up what the source tells of, behind the transforms.

    Args:
        state: the pipeline's, held.
        saved: the saved offset.
        lists: which tables are captured.
        left_out: why rows of a table from before the pipeline are not told of; None: they are.
        layouts: how rows become texts.
        rows: where rows are known by their keys.
        log: where the source's log is; None: a snapshot's rows are those at the place that the log is followed from.
        mirrors: whether the sink's tables follow what happens to whole tables.
    """

    def __init__(
        self,
        state: Writable,
        saved: Offset | None,
        lists: Mapping[str, str],
        left_out: Callable[[str], str | None],
        layouts: Layouts,
        rows: KeyedRows,
        log: Log | None,
        *,
        mirrors: bool = False,
    ) -> None:
        self._layouts, self._mirrors = layouts, mirrors
        self._keyed, self._log = rows, log
        super().__init__(None, state, saved, lists, left_out)

    # -- what is kept

    def load(self, saved: Offset | None) -> None:
        """Goes on from a saved offset."""
        self._forget()
        super().load(saved)
        token, _ = self._window
        self._ended = bool(token) and not any(table.reading for table in self._tables.values())
        if token and not self._keyed.has(token):
            self._window = "", None
            for table in self._tables.values():
                if table.keyed:
                    table.spoil("the file that its snapshot's rows were in is gone")
                    table.keyed = False
        elif saved is None and self._log is not None:
            self._open()

    def _open(self) -> None:
        """From here on, and until the log has been read up to where it ends behind the snapshot, keys count."""
        token, _ = self._window
        self._window = token or self._keyed.begin(), None
        self._ended = False

    @property
    def _is_open(self) -> bool:
        return bool(self._window[0])

    def _forget(self) -> None:
        self._gathered: dict[tuple[str, Schema, Schema], GatheredRows] = {}
        self._count = 0

    # -- what comes

    def _take_changes(self, changes: Changes) -> None:
        op, layout = changes.op, self._layouts(changes.shape.row, changes.key)
        table = self._known_table(changes, layout)
        known_as = changes.topic, changes.shape.row, changes.key
        rows = self._gathered.get(known_as)
        if rows is None:
            rows = self._gathered[known_as] = GatheredRows(changes.position, layout)
        self._look_for_holes(changes.records[0])
        if table.keyed:
            rows.note_keys(changes.keys, gone=op == "d")
        if table.void:
            return
        for wanted, before, into in (("rcu", False, rows.put), ("ud", True, rows.gone)):
            if op in wanted and not (before and table.keyed):
                images = self._images(changes, rows.layout, before=before)
                into.extend(images)
                self._count += len(images)

    def _known_table(self, changes: Changes, layout: Layout) -> TableLedger:
        """The table of the changes' topic, with its source noted."""
        topic, op, name = changes.topic, changes.op, source_of(changes.source)
        table = self._table(topic)
        first = table.form is None
        if op == "r" and not table.reading:
            self._add_up()
        self._begin(table, op, name, layout.form)
        if table.pending.emptied:
            table.settle()
            first = True
        if first and self._keeps_keys(topic, reading=op == "r"):
            self._keep_keys(topic, table, reading=op == "r")
        self._note_key(table, layout.form, tuple(one.name for one in changes.key.fields))
        self._note_source(table, name)
        return table

    def _keep_keys(self, topic: str, table: TableLedger, *, reading: bool) -> None:
        """From here on its rows are known by their keys."""
        if reading or not self._is_open:
            self._open()
        self._keyed.clear(topic)
        table.keyed = True

    def _keeps_keys(self, topic: str, *, reading: bool) -> bool:
        """Whether the rows of a table that begins are known by their keys."""
        return self._is_open or (reading and self._log is not None)

    def _note_key(self, table: TableLedger, form: RowForm, names: tuple[str, ...]) -> None:
        if table.key == names:
            return
        if table.key:
            table.spoil(f"its key was {', '.join(table.key)} and became {', '.join(names)}")
        elif self._mirrors and (foreign := set(names) - {*form.columns}):
            table.spoil(f"its key has {', '.join(sorted(foreign))}, which its rows do not have")
        table.key = names

    # -- what happens to whole tables

    def _mark(self, mark: Marked) -> None:
        kind, table = mark.kind, self._table(mark.topic)
        if kind is MarkKind.SNAPSHOT_END:
            table.read()
        elif kind is MarkKind.ALTER:
            self._altered(table, mark)
        elif kind in (MarkKind.RENAME, MarkKind.UNTOLD) and self._mirrors:
            table.spoil(f"rows of it came or went at position {mark.position} without being told of")
        elif kind is MarkKind.SNAPSHOT_BEGIN or (kind is MarkKind.CREATE and self._mirrors):
            self._begun(table, mark)
        elif kind in (MarkKind.TRUNCATE, MarkKind.DROP) and self._mirrors:
            self._emptied(mark.topic, shared=mark.shared)

    def _begun(self, table: TableLedger, mark: Marked) -> None:
        """All its rows are told from here on; there are none before."""
        if mark.form is None:
            return  # the first row says more
        if mark.shared:
            table.spoil(f"its rows are those of several tables, of which {mark.table} was read anew")
            return
        reading = mark.kind is MarkKind.SNAPSHOT_BEGIN
        table.key, table.keyed = (), False
        table.begin(mark.form, mark.table)
        table.reading = reading
        self._note_key(table, mark.form, mark.key)
        self._note_source(table, mark.table)
        table.settle()
        if self._keeps_keys(mark.topic, reading=reading):
            self._keep_keys(mark.topic, table, reading=reading)

    def _altered(self, table: TableLedger, mark: Marked) -> None:
        if mark.form is None or table.form is None:
            return
        if not table.form.covers(mark.form):
            table.spoil(changed(table.form, mark.form, mark.position))
        else:
            self._note_key(table, mark.form, mark.key)

    def _emptied(self, topic: str, *, shared: bool = False) -> None:
        table = self._table(topic)
        if shared or len(table.sources) > 1:
            table.spoil(_SEVERAL)
        if table.keyed:
            self._keyed.clear(topic)
        table.empty()

    def _spoil(self, topic: str, why: str) -> None:
        self._table(topic).spoil(why)

    # -- sums

    def _add_up(self) -> None:
        for (topic, _, _), rows in self._gathered.items():
            self._add_rows(topic, self._table(topic), rows)
        self._forget()

    def _add_rows(self, topic: str, table: TableLedger, rows: GatheredRows) -> None:
        form = rows.layout.form
        if table.void or table.form is None:
            return
        if table.form != form and not table.form.covers(form):
            table.spoil(changed(table.form, form, rows.position))
            return
        names = table.form.columns
        put = rows.layout.hashes(rows.put, names)
        if table.keyed:
            self._keyed.apply(topic, rows.changes(put))
            table.changed = True
        else:
            table.take(put, rows.layout.hashes(rows.gone, names))

    # -- how far it is

    def took(self, batch: Batch) -> None:
        """The batch that was taken is whole."""
        if batch.offset is None:
            return
        self._add_up()
        if batch.save and not batch.records:
            self._read_out()
        super().took(batch)

    def ended(self) -> None:
        """What was planned as a whole has come as a whole."""
        self._read_out()
        for table in self._tables.values():
            table.read()

    def _read_out(self) -> None:
        """A snapshot has ended: where the log ends from now on is behind all that its rows show."""
        if self._is_open:
            self._window, self._ended = (self._window[0], None), True

    def saving_batch(self, offset: Offset, application: str, batch: int) -> None:
        """The offset is about to be saved, behind a batch of the tables, and behind all that was taken.

        Raises:
            StateError: it cannot be kept.
        """
        self._add_up()
        for table in self._touched.values():
            table.settle()
        self._touched.clear()
        self._batch = application, batch
        self.saving(offset)

    def saving(self, offset: Offset) -> None:
        """The offset is about to be saved."""
        was_open = self._is_open
        if was_open:
            self._close(offset)
            self._keyed.commit()
        super().saving(offset)
        if not was_open:
            self._keyed.remove()

    def _close(self, offset: Offset) -> None:
        """Adds up what is known by keys, once the log has been read up to where it ended behind the snapshot."""
        log, (token, until) = self._log, self._window
        if log is None or not self._ended:
            return
        with suppress(CdcError):  # a source that is away is asked again when the next offset is saved
            if until is None:
                until = log.log_end(offset)
                self._window = token, until
            if not log.passed(offset, until):
                return
            for topic, table in self._tables.items():
                if table.keyed:
                    table.sums, table.keyed, table.changed = self._keyed.sums(topic), False, True
            self._window, self._ended = ("", None), False

    def drop(self) -> None:
        """What came behind the last offset comes again; rows by their keys may."""
        self._forget()
        super().drop()

    def begin_anew(self) -> None:
        """The log is lost, and all rows are read again."""
        self._forget()
        super().begin_anew()
        if self._log is not None:
            self._window = "", None
            self._open()


def changed(before: RowForm, form: RowForm, position: str) -> str:
    """Why rows of another form are not added to those of one."""
    return f"its definition changed at position {position}: {before.lost(form)} went or became otherwise"
