"""What the sink has been given, and how much of it is saved."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdckit.api.batch import Batch
from cdckit.api.held import Barrier
from cdckit.api.messages import Messages
from cdckit.api.record import Offset, lane_of
from cdckit.api.sink import Sink
from cdckit.api.source import Source
from cdckit.api.source_counts import SourceCounts
from cdckit.api.state_store import StateStore
from cdckit.engine.barrier import BarrierRequests
from cdckit.engine.metrics.absence import Absence
from cdckit.engine.metrics.pace import Pace
from cdckit.engine.notices import RunNotices
from cdckit.engine.runners.forecaster import Forecaster
from cdckit.engine.runners.sink_offset import SinkOffset
from cdckit.errors import RetriableSinkError

if TYPE_CHECKING:
    from cdckit.engine.ledger.ledger import Ledger


class Progress:
    """Saves the offset after the sink's flush, at the most once an interval, and tells the hooks.

    Where the sink keeps the offset (`Sink.transactions`), it has it first, with the records, and what is saved is a
    copy. Then a transaction ends only where reading on from the offset repeats none of its records.

    Attributes:
        offset: the place to go on from, whether saved yet or not; None before the first.
    """

    def __init__(
        self,
        saved: Offset | None,
        interval_seconds: float,
        sink: Sink,
        state: StateStore,
        source: Source,
        notices: RunNotices,
        counts: SourceCounts,
        away: Absence,
        kept: SinkOffset | None = None,
        pace: Pace | None = None,
        ahead: Forecaster | None = None,
        ledger: Ledger | None = None,
        barriers: BarrierRequests | None = None,
    ) -> None:
        self.offset = saved
        self._saved = saved
        self._interval = interval_seconds
        self._sink = sink
        self._state = state
        self._source = source
        self._notices = notices
        self._counts = counts
        self._away = away
        """How long the sink has not answered."""
        self._kept = kept
        self._pace = pace or Pace()
        self._ahead = ahead
        self._ledger = ledger
        self._barriers = barriers
        self._positions: Sequence[str] = ()
        """Those of the last messages, and of the last before the offset."""
        self._reached: Sequence[str] = ()
        self._behind = False
        """Whether the sink has records that the offset does not tell of."""
        self._written = False
        """Whether it has records that it was not asked to commit, or to flush."""
        self._records = self._taking = 0
        """How many messages the sink has since the last save, and of the batch that is being written."""
        self._log_bytes = 0
        self._log_time_ms: int | None = None
        self._due = time.monotonic() + interval_seconds

    def write(self, messages: Messages) -> None:
        """Gives the sink messages of a batch of which `took` is told next.

        Raises:
            SinkError: it does not take them.
        """
        self._behind = self._written = True
        away = self._away
        if away.since is None:
            away.since = time.monotonic()
        self._sink.write(messages)
        away.since = None
        self._taking += len(messages)
        self._positions = messages.positions or self._positions
        if self._ledger is not None:
            self._ledger.take(messages)

    def took(self, batch: Batch) -> None:
        """Notes a batch that the sink was given; saves when it is time, or asked for."""
        self._records, self._taking = self._records + self._taking, 0
        self._log_bytes += batch.log_bytes
        self.look_ahead()
        if batch.log_time_ms is not None:
            self._log_time_ms = batch.log_time_ms
            self._pace.read()
        # A batch without an offset ends where reading cannot resume; what it holds is covered by a later one's.
        if batch.offset is not None:
            self.offset = batch.offset
            self._behind = batch.repeats
            self._reached = self._positions
            if self._ledger is not None:
                self._ledger.took(batch)
            late = time.monotonic() >= self._due
            if batch.save or (late and self._kept is None):
                self.save()
            elif self._kept is not None:
                if self._kept.due(worthwhile=late or bool(batch.records)):
                    self._deliver(self._kept)
                    self._answer()
                if late:
                    self._keep(self._kept.committed)

    def look_ahead(self, *, waiting: bool = False) -> None:
        """Looks, once a minute, how long the log behind the saved offset is kept."""
        if self._ahead is not None:
            self._ahead.look(self._saved, heard=not waiting)

    def save(self) -> None:
        """Flushes the sink, then saves the offset; nothing where nothing is new.

        Raises:
            SinkError: the sink did not take something; the offset stays as it was.
            StateError: the offset cannot be saved.
        """
        if self._kept is not None:
            self._deliver(self._kept)
            self._keep(self._kept.committed)
        else:
            self._keep(self.offset)

    def rewind(self) -> None:
        """Takes back what the sink has and the offset does not tell of, before that is read again.

        A sink without transactions is flushed, so that what it sets aside is known when it comes once more.

        Raises:
            SinkError: the sink cannot go on.
        """
        self._taking = 0
        if self._kept is None:
            if self._written:
                self._flush()
            if self._ledger is not None:
                self._ledger.drop()
        elif self._behind:
            self.offset = self._kept.rollback()
            if self._ledger is not None:
                self._ledger.load(self.offset)
            self._behind = self._written = False
            self._records = self._log_bytes = 0

    def begin_anew(self) -> None:
        """What lies behind the offset is gone at the source: all rows are read again.

        Raises:
            SinkError: the sink cannot go on.
        """
        self.rewind()
        if self._ledger is not None:
            self._ledger.begin_anew()

    def _deliver(self, kept: SinkOffset) -> None:
        """Commits what the offset tells of, unless the sink has more than that."""
        if self._behind or self.offset is None or not (self._written or self.offset != kept.committed):
            return
        if self._ledger is not None:
            self._ledger.saving(self.offset)
        self._away.begin()
        try:
            kept.commit(self.offset)
        # Whether it was committed after all is not known: `rewind` reads what the sink says.
        except RetriableSinkError:
            self._behind = True
            raise
        self._away.end()
        self._written = False

    def _flush(self) -> None:
        self._away.begin()
        self._sink.flush()
        self._away.end()
        self._written = False

    def _keep(self, offset: Offset | None) -> None:
        self._due = time.monotonic() + self._interval
        if offset is None or offset == self._saved:
            self._answer()
            return
        if self._kept is None:
            # The offset must not be ahead of the sink: what is acknowledged now is all that lies before it.
            self._flush()
            if self._ledger is not None:
                self._ledger.saving(offset)
        self._state.save_offset(offset)
        self._saved = offset
        # Behind the save: what the source lets go of now (signals, a place in the log) nobody will ask for again.
        self._source.committed(offset)
        self._notices.batch_committed(
            records=self._records,
            offset=offset,
            log_time_ms=self._log_time_ms,
            log_bytes=self._log_bytes,
            lag_bytes=self._source.lag_bytes(offset),
            lag_messages=self._source.lag_messages(offset),
            counts=self._counts.take(),
        )
        self._records = self._log_bytes = 0
        self._answer()

    def _answer(self) -> None:
        """Tells whoever asks how far the sink is, where it has all before that and nothing behind.

        A sink that keeps all is told by the last message, where this process has written it; others by their ends.
        """
        barriers, safe = self._barriers, self._saved if self._kept is None else self._kept.committed
        if barriers is None or safe is None or self._behind or self.offset != safe or not barriers.waiting:
            return
        if self._written:
            if self._kept is not None:
                return
            self._flush()
        last = max(self._reached, default="") if self._sink.keeps_all and self._kept is None else ""
        barriers.answer(Barrier(safe, {lane_of(last): last} if last else {}), self._sink.ends)
