"""What a sink of tables has been given, what is committed of it, and what is saved."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cdckit.api.batch import Batch
from cdckit.api.held import Barrier
from cdckit.api.marks import RoutedMark
from cdckit.api.record import Offset, Record, lane_of
from cdckit.api.source import Source
from cdckit.api.source_counts import SourceCounts
from cdckit.api.state_store import StateStore
from cdckit.engine.barrier import BarrierRequests
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.notices import RunNotices
from cdckit.engine.runners.forecaster import Forecaster
from cdckit.engine.runners.isolation import Isolation
from cdckit.engine.runners.read_chunks import ReadChunks
from cdckit.engine.runners.record_ends import RecordEnds
from cdckit.engine.state.table_batches import TableBatches
from cdckit.errors import RowsRefusedError
from cdckit.tables.direct import DirectTableSink
from cdckit.tables.pieces import Piece, pieces
from cdckit.tables.refused import RowsFoundError
from cdckit.tables.segments import CUTTING

if TYPE_CHECKING:
    from cdckit.engine.ledger.record_rows import RecordLedger

log = logging.getLogger("cdckit.runner")

_BETWEEN = 4
"""How long changes are gathered, in durations of the commit before: commits take a fifth of the time at the most …"""
_LONGEST = 0.5
"""… but not longer than this, in seconds."""

Transformed = Callable[[Batch], tuple[Sequence[Record], Sequence[RoutedMark]]]
"""A batch behind the transforms."""


class TableProgress:
    """Commits batches to a sink of tables, and saves the offset behind each.

    Args:
        saved: the saved offset.
        interval_seconds: how often the offset of a log without changes is saved.
        sink: takes records.
        batches: numbers them.
        transformed: applies the transforms.
        state: takes the offset.
        source: is told of it.
        notices: tell the hooks.
        counts: the source's.
        figures: are told how long the sink has not answered, and of what was read.
        ahead: looks how long the log is kept.
        barriers: says who asks for a place.
        application: by what name the pipeline's batches are known in the tables.
        settle: returns once the records that the sink was not given are safe in quarantine.
        isolation: looks for records that a table refuses; None: they stop the pipeline.
        ledger: adds up the rows; None: none is kept.

    Attributes:
        offset: the place to go on from; None before the first.
    """

    def __init__(
        self,
        saved: Offset | None,
        interval_seconds: float,
        sink: DirectTableSink,
        batches: TableBatches,
        transformed: Transformed,
        state: StateStore,
        source: Source,
        notices: RunNotices,
        counts: SourceCounts,
        figures: Figures,
        ahead: Forecaster,
        barriers: BarrierRequests,
        application: str,
        settle: Callable[[], None] = lambda: None,
        isolation: Isolation | None = None,
        ledger: RecordLedger | None = None,
    ) -> None:
        self.offset = saved
        self.batches = batches
        self._saved = saved
        self._interval = interval_seconds
        self._sink = sink
        self._transformed = transformed
        self._state = state
        self._source = source
        self._notices = notices
        self._counts = counts
        self._away, self._pace = figures.sink_away, figures.pace
        self._ahead = ahead
        self._barriers, self._application = barriers, application
        self._settle = settle
        self._isolation = isolation
        self._ledger = ledger
        self._marked = False
        """Whether the sink has marks that are not committed."""
        self._chunks = ReadChunks(source, sink, batches)
        self._reached: dict[str, str] = {}
        self._log_time_ms: int | None = None
        self._behind = False
        """Whether the sink has records that reading on from the offset would give again."""
        self._awaits = False
        """Whether more of what was begun is to come, so that nothing is committed: a table's number would tell less."""
        self._parted = False
        """Whether the rest of rows is to come that are committed together."""
        self._unnamed = False
        """Whether the sink could not name rows that a table refuses: they are found by halves, whatever was begun."""
        self._committed, self._took = time.monotonic(), 0.0
        self._due = time.monotonic() + interval_seconds
        self._clear()

    def took(self, batch: Batch) -> None:
        """Gives the sink a batch of the log; commits when it is time.

        Raises:
            SinkError: the sink does not take it.
        """
        rows = self._chunks.rows(self.offset, batch)
        if self._isolation is not None:
            self._isolation.comes(batch.records, rows)
        records, marks = self._made(batch)
        self._chunks.went(rows, records)
        begun, part = self._is_begun(batch), self._is_part(batch)
        if begun or part:
            self._put_together(records, marks, batch)
        else:
            self._take(records, marks, batch)
        self._note(batch)
        if batch.offset is not None:
            self.offset, self._behind = batch.offset, batch.repeats
        elif batch.records:
            self._behind = True
        late = time.monotonic() >= self._due and not self._sink.waiting
        # What waited for the rest of what was begun is written without more: halves of it could not be.
        if batch.save or begun or late or self._sink.full or self._is_time():
            self.save()
        self.look_ahead()

    def _take(self, records: Sequence[Record], marks: Sequence[RoutedMark], batch: Batch) -> None:
        whole = batch.offset is not None and not batch.repeats
        for piece in pieces(records, marks, CUTTING):
            self._put(piece, batch)
            if piece.cut is not None:
                for position in (piece.cut, *(record.position for record in piece.records)):
                    self._reach(position)
                self._commit(batch.offset if whole and piece.last else None, at_least=self._before)

    def _put_together(self, records: Sequence[Record], marks: Sequence[RoutedMark], batch: Batch) -> None:
        if self._isolation is not None:
            records = self._isolation.without_found(records)
            for _ in self._isolation.parts(records, batch.records):
                pass
        self._sink.write(records, marks, whole=True)

    def _is_begun(self, batch: Batch) -> bool:
        """Whether a batch is to be written together with what was begun before it, at another server."""
        begun = batch.begun
        if begun is not None and self._isolation is not None and not self._unnamed:
            self._isolation.end_search()  # of what halves held before the sink knows by transactions, as of any batch
        if begun is None or self.searches:
            return self._awaits
        self._sink.held(begun.held)
        self._sink.names_refused = True
        self._awaits = not begun.ended
        if begun.ended:
            self.batches.came()
        return True

    def _is_part(self, batch: Batch) -> bool:
        """Whether what follows belongs to it, up to the next offset: read again, its rows may have other positions."""
        self._parted = batch.offset is None and (self._parted or bool(batch.records)) and not self.searches
        return self._parted

    def _made(self, batch: Batch) -> tuple[Sequence[Record], Sequence[RoutedMark]]:
        records, marks = self._transformed(batch)
        if self._ledger is not None:
            self._ledger.take_records(records, marks)
        return records, marks

    def _put(self, piece: Piece[RoutedMark], batch: Batch) -> None:
        isolation = self._isolation
        if isolation is None:
            self._sink.write(piece.records, piece.marks)
            return
        records = isolation.without_found(piece.records)
        if piece.marks:
            self._marked = True
            for _ in isolation.parts(records, ()):
                pass
            self._sink.write(records, piece.marks)
            return
        ends, count = RecordEnds(batch, self._before), 0
        for part in isolation.parts(records, batch.records):
            self._sink.write(part, ())
            count += len(part)
            if isolation.searches:
                for record in part:
                    self._reach(record.position)
                self._commit(at_least=ends.behind(records, count))

    @property
    def _before(self) -> Offset | None:
        """The offset before the batch in hand, unless records from before it come again from there."""
        return None if self._behind else self.offset

    @property
    def begun(self) -> Mapping[int, Offset]:
        """The ends of batches of which the source is to say what it reads again of them, by the batches' numbers."""
        return self.batches.ends

    @property
    def searches(self) -> bool:
        """Whether halves are committed, whatever was begun: else a row that a table refuses stopped it for good."""
        return self._isolation is not None and self._isolation.searches

    def isolates(self, error: RowsRefusedError) -> None:
        """A table refused rows: they are looked for, when what is not saved is read again.

        Raises:
            RowsRefusedError: they stop the pipeline.
        """
        if self._isolation is None:
            raise error
        marked = self._marked
        planned, self._marked = self.batches.planned_end is not None, False
        if isinstance(error, RowsFoundError) and not planned:
            self._isolation.name(error)
            return
        if self._sink.names_refused:
            self._unnamed = True
            log.warning("%s: which rows is found by halves, so that changes may be there twice", error)
        self._isolation.narrow(error, whole=planned or marked)

    def look_ahead(self, *, waiting: bool = False) -> None:
        """Looks, once a minute, how long the log behind the saved offset is kept."""
        self._ahead.look(self._saved, heard=not waiting)

    def pass_chunks(self) -> None:
        """Goes on behind the chunks, too, that tables have of an incremental snapshot, where nothing has come yet.

        Raises:
            SinkError: a table cannot be looked at.
        """
        if self.offset == self._saved:
            self.offset = self._chunks.behind(self._saved)

    def plan(self, end: Offset) -> None:
        """Keeps that all up to `end` is one batch. What came before is saved first: a plan goes on from a saved offset.

        Raises:
            SinkError: a table does not take what came before.
            StateError: the plan cannot be kept.
        """
        self._awaits = self._parted = False
        self.save()
        self.batches.plan(end)

    def took_part(self, batch: Batch) -> None:
        """Gives the sink a part of what was planned, which is committed as a whole.

        Raises:
            SinkError: the sink does not take it.
        """
        records, marks = self._made(batch)
        self._is_begun(batch)
        self._sink.write(records, marks, whole=True)
        self._note(batch)

    def finish(self, end: Offset) -> None:
        """Commits what was planned, all of which the sink has.

        Raises:
            SinkError: a table does not take it.
            StateError: the offset cannot be saved.
        """
        self._write(self.batches.begin(None), end)
        self.offset, self._behind, self._awaits = end, False, False
        if self._ledger is not None:
            self._ledger.ended()
        self._keep()

    def save(self) -> None:
        """Commits what is waiting, and saves the offset unless records would come again from there.

        Raises:
            SinkError: a table does not take it.
            StateError: the offset cannot be saved.
        """
        if not (self._awaits or self._parted):
            self._commit(None if self._behind else self.offset)
            self._keep()

    @property
    def settled(self) -> bool:
        """Whether the tables have all that lies before the saved offset, and nothing that lies behind."""
        batches = self.batches
        saved = self.offset == self._saved and not self._behind
        return saved and not (self._sink.waiting or batches.unfinished)

    def rewind(self) -> None:
        """Forgets what is not committed, before it is read again.

        Raises:
            StateError: what cannot be delivered is not kept.
        """
        self._settle()  # what was kept comes again, and is known then
        self.offset = self._saved
        self._behind = self._awaits = self._parted = self._sink.names_refused = False
        self._reached = {}
        self._chunks.forget()
        self._clear()
        self.batches.comes_again()
        self._sink.begin(self.batches.generation, self.batches.begun)
        if self._ledger is not None:
            self._ledger.load(self._saved)

    def begin_anew(self) -> None:
        """What lies behind the offset is gone at the source: what comes has other batches."""
        self.batches.begin_anew()
        self.rewind()
        if self._ledger is not None:
            self._ledger.begin_anew()

    def _is_time(self) -> bool:
        if not self._sink.waiting:
            return False
        pause = max(self._sink.commit_interval_ms / 1000, min(_BETWEEN * self._took, _LONGEST))
        return time.monotonic() - self._committed >= pause

    def _commit(self, end: Offset | None = None, *, at_least: Offset | None = None) -> None:
        """Commits what is waiting.

        Args:
            end: the offset that it ends at; None: between two.
            at_least: one before which all is committed then, where there is no end.
        """
        if not self._sink.waiting:
            return
        if topics := self._chunks.topics:
            self._settle()  # of a chunk that a table has, nothing comes again that could be kept
            self._sink.names_refused = True
        self._write(self.batches.begin(self._reached, at_least if end is None else end, topics), end)

    def _write(self, number: int, end: Offset | None) -> None:
        begun = time.monotonic()
        self._sink.ends_at(end)
        self._away.begin()
        self._rows += self._sink.commit(number)
        self._away.end()
        self._marked = False
        if self._isolation is not None:
            self._isolation.committed()
        self._committed = time.monotonic()
        self._took = self._committed - begun

    def _note(self, batch: Batch) -> None:
        self._log_bytes += batch.log_bytes
        if batch.log_time_ms is not None:
            self._log_time_ms = batch.log_time_ms
            self._pace.read()
        for position in _last_positions(batch):
            self._reach(position)

    def _reach(self, position: str) -> None:
        lane = lane_of(position)
        if position > self._reached.get(lane, ""):
            self._reached[lane] = position

    def _keep(self) -> None:
        self._due = time.monotonic() + self._interval
        if self.offset is None or self.offset == self._saved or self._behind:
            self._answer()
            return
        self._settle()
        self.batches.saving(self.offset, self._reached)
        if self._ledger is not None:
            self._ledger.saving_batch(self.offset, self._batches_name, self.batches.number)
        self._state.save_offset(self.offset)
        self._saved = self.offset
        self.batches.saved(self.offset, self._reached)
        if not self.batches.begun:
            self._sink.saved()
        self._sink.names_refused = self._unnamed = False
        if self._isolation is not None:
            self._isolation.saved()
        self._reached = {}
        self._chunks.forget()
        self._source.committed(self.offset)
        self._notices.batch_committed(
            records=self._rows,
            offset=self.offset,
            log_time_ms=self._log_time_ms,
            log_bytes=self._log_bytes,
            lag_bytes=self._source.lag_bytes(self.offset),
            lag_messages=self._source.lag_messages(self.offset),
            counts=self._counts.take(),
        )
        self._clear()
        self._answer()

    def _answer(self) -> None:
        """Tells whoever asks which batch is the last before the saved offset."""
        if self._behind or self._saved is None or self.offset != self._saved or not self._barriers.waiting:
            return
        if not self.batches.begun and self.batches.planned_end is None:
            self._barriers.answer(Barrier(self._saved, {}, self._batches_name, self.batches.number), lambda _: None)

    @property
    def _batches_name(self) -> str:
        return f"{self._application}/{self.batches.generation}"

    def _clear(self) -> None:
        self._rows = self._log_bytes = 0
        self._log_time_ms = None


def _last_positions(batch: Batch) -> Iterator[str]:
    """The last position of each lane, and perhaps earlier ones."""
    yield from (mark.position for mark in batch.marks)
    positions = [record.position for record in batch.records]
    if not positions:
        return
    last = max(positions)
    if lane_of(last):
        yield from positions
    else:
        yield last
