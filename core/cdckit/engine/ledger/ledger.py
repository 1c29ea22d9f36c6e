"""The ledger of a running pipeline: of each topic the rows that its events come to, as sums of hashes.

An event adds the hash of the row after it and takes that of the row before it away. So the sums are those of the rows
that the source told of, whatever became of the messages; saved with the offset, they count each event once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from cdckit.api.batch import Batch
from cdckit.api.messages import Messages
from cdckit.api.record import LANE_END, UNAVAILABLE_HEADER, Offset, lane_of
from cdckit.api.schema import Schema
from cdckit.engine.ledger.kept import Head, Place, Writable, read_head, read_tables, save_table
from cdckit.engine.ledger.record_taker import INCREMENTAL, lacking, source_of
from cdckit.engine.ledger.row_form import RowForm, digest
from cdckit.engine.ledger.table import TableLedger
from cdckit.engine.serializers.row_texts import RowTexts, Run

_READ = "r"
_TRUNCATE = "t"
_FORM = "ledger.form"


class _Rows(NamedTuple):
    """The rows of a run.

    Attributes:
        run: what they have in common.
        befores: the hashes of rows before.
        afters: those of rows after.
        written: the messages that they are in.
        position: that of the first one.
    """

    run: Run
    befores: list[bytes]
    afters: list[bytes]
    written: Sequence[bytes | None]
    position: str


def form_of(schema: Schema) -> RowForm:
    """The form of the rows of a schema."""
    made: RowForm | None = schema.derived.get(_FORM)
    if made is None:
        made = schema.derived[_FORM] = RowForm.of(schema)
    return made


class Ledger:
    """Adds up what the source tells of.

    Args:
        rows: the texts of rows, which the serializer notes; None: rows are given otherwise.
        state: the pipeline's, held.
        saved: the saved offset.
        lists: which tables are captured.
        left_out: why rows of a table from before the pipeline are not told of; None: they are.
    """

    def __init__(
        self,
        rows: RowTexts | None,
        state: Writable,
        saved: Offset | None,
        lists: Mapping[str, str],
        left_out: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        self._rows = rows
        self._left_out = left_out
        self._state = state
        self._lists = dict(lists)
        self._batch = "", 0
        """Of a sink of tables, by what name its batches are known there, and the last one."""
        self.load(saved)

    # -- what is kept

    def load(self, saved: Offset | None) -> None:
        """Goes on from a saved offset.

        Raises:
            StateError: what is kept is damaged.
        """
        head = read_head(self._state)
        place = None if head is None or saved is None else head.place(saved)
        self._place = place or Place(0, saved)
        self._settled, self._reached, self._window = dict(self._place.reached), dict[str, str](), self._place.window
        self._tables: dict[str, TableLedger] = {}
        self._known: set[str] = set()
        self._touched: dict[str, TableLedger] = {}
        self._last = 0 if head is None else max(one.number for one in head.places)
        self._whole = saved is None
        if head is not None and place is not None:
            self._whole = head.whole and head.lists == self._lists
            self._tables = read_tables(self._state, head.topics, place.number)
            self._known = set(self._tables)
        for table in self._tables.values():
            table.drop()

    def saving(self, offset: Offset) -> None:
        """The offset is about to be saved: keeps what goes with it.

        Raises:
            StateError: it cannot be kept.
        """
        number, before = self._last + 1, self._place
        for topic, table in self._tables.items():
            if table.changed:
                save_table(self._state, topic, table, number, before.number if topic in self._known else 0)
                self._known.add(topic)
                table.changed = False
        self._place = Place(number, offset, dict(self._settled), *self._batch, self._window)
        self._last = number
        Head([self._place, before], list(self._tables), self._whole, self._lists).save(self._state)

    # -- what comes

    def take(self, messages: Messages) -> None:
        """Takes the rows of messages, which the serializer has just written."""
        noted = self._rows
        if not messages.topics or noted is None:
            return
        runs = noted.runs
        if len(runs) == 1:
            rows = _Rows(runs[0], noted.befores, noted.afters, messages.values, messages.positions[0])
            self._take_run(messages.topics, rows)
        elif runs:  # of tombstones alone there are none
            self._take_runs(noted, messages)
        self._look_for_partial_rows(messages)
        self._look_how_far(messages.positions, runs)
        noted.clear()

    def _take_runs(self, noted: RowTexts, messages: Messages) -> None:
        ends = [(run.first, run.before, run.after) for run in noted.runs[1:]]
        ends.append((len(messages), len(noted.befores), len(noted.afters)))
        for run, (end, before, after) in zip(noted.runs, ends, strict=True):
            hashes = noted.befores[run.before : before], noted.afters[run.after : after]
            rows = _Rows(run, *hashes, messages.values[run.first : end], messages.positions[run.first])
            self._take_run(messages.topics[run.first : end], rows)

    def _take_run(self, topics: Sequence[str], rows: _Rows) -> None:
        if topics.count(topics[0]) == len(topics):
            self._take(topics[0], rows)
            return
        for each in set(topics):
            self._table(each).spoil("rows of one event go to several topics")

    def _look_how_far(self, positions: Sequence[str], runs: Sequence[Run]) -> None:
        """Notes the newest position: of each run the last message has it."""
        ends = [*(positions[run.first - 1] for run in runs[1:]), positions[-1]]
        newest, reached = max(ends if all(ends) else positions), self._reached
        for position in (newest, positions[0]) if LANE_END in newest else (newest,):
            lane = lane_of(position)
            if position > reached.get(lane, ""):
                reached[lane] = position

    def _take(self, topic: str, rows: _Rows) -> None:
        table, run = self._table(topic), rows.run
        if not run.op or run.row is None or run.source is None:
            table.spoil("its values are no change events with rows: a transform took before and after away")
        elif run.op == _TRUNCATE:
            self._empty(table, run)
        elif run.op != _READ or run.source.get("snapshot") != INCREMENTAL:
            self._add(table, rows)

    def _empty(self, table: TableLedger, run: Run) -> None:
        if len(table.sources) > 1:
            table.spoil("its rows are those of several tables, one of which was emptied")
        else:
            table.empty()

    def _add(self, table: TableLedger, rows: _Rows) -> None:
        run, befores, afters = rows.run, rows.befores, rows.afters
        assert run.row is not None
        assert run.source is not None
        source, form = source_of(run.source), form_of(run.row)
        self._begin(table, run.op, source, form)
        self._note_source(table, source)
        if table.void:
            return
        if table.form is not form and table.form == form and [*table.form.columns] == [*form.columns]:
            table.form = form  # the state's was the same; by that it is known at a glance from here on
        if table.form is not form and table.form is not None:
            if not table.form.covers(form):
                lost = table.form.lost(form)
                table.spoil(f"its definition changed at position {rows.position}: {lost} went or became otherwise")
                return
            if [*table.form.columns] != [*form.columns]:
                befores, afters = self._in_form(table.form, rows)
        if run.op == "u" and len(befores) != len(afters):
            table.spoil(f"an update at position {rows.position} or behind it does not tell the row before")
            return
        table.take(afters, befores)

    def _in_form(self, form: RowForm, rows: _Rows) -> tuple[list[bytes], list[bytes]]:
        """The hashes of rows that have more columns than those that are added up, or have them in another order."""
        assert self._rows is not None
        events = list(self._rows.rows_of(rows.run, rows.written))
        befores, afters = (
            [digest(form.text(event[image])) for event in events if event[image] is not None]
            for image in ("before", "after")
        )
        return befores, afters

    def _note_source(self, table: TableLedger, source: str) -> None:
        if source not in table.sources:
            table.sources.add(source)
            if (why := self._left_out(source)) is not None:
                table.spoil(why)

    def _begin(self, table: TableLedger, op: str, source: str, form: RowForm) -> None:
        """What a row means for the whole: a snapshot's first one, or the first one of a table."""
        if op == _READ:
            table.seen = True
            if not table.reading and not table.interrupted:
                table.begin(form, source)
            return
        table.reading = False
        if table.form is None:
            table.form = form
            if not self._whole:
                table.spoil(_BEGAN_LATE)

    def _look_for_partial_rows(self, messages: Messages) -> None:
        headers = messages.headers
        if headers.count(headers[0]) == len(headers) and not _partial(headers[0]):
            return
        for number, each in enumerate(headers):
            if _partial(each):
                self._table(messages.topics[number]).spoil(lacking(messages.positions[number]))

    def _table(self, topic: str) -> TableLedger:
        table = self._touched.get(topic)
        if table is None:
            table = self._touched[topic] = self._tables.setdefault(topic, TableLedger())
        return table

    # -- how far it is

    def took(self, batch: Batch) -> None:
        """The batch that was taken is whole."""
        if batch.offset is None:
            return
        for table in self._touched.values():
            table.settle()
        if batch.save and not batch.records:
            for table in self._tables.values():
                table.read()
        self._touched.clear()
        self._settled |= self._reached
        self._reached = {}

    def drop(self) -> None:
        """What came behind the last offset comes again."""
        for table in self._tables.values():
            table.drop()
        self._touched.clear()
        self._reached = {}

    def begin_anew(self) -> None:
        """The log is lost, and all rows are read again."""
        self._whole = True
        self._tables = {topic: TableLedger() for topic in self._tables}
        self._touched.clear()


_BEGAN_LATE = "the ledger began when there were rows already: `cdc resnapshot` has them read again"


def _partial(headers: Sequence[tuple[str, bytes | None]]) -> bool:
    return any(name == UNAVAILABLE_HEADER for name, _ in headers)
