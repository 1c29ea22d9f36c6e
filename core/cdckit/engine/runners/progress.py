"""What the sink has been given, and how much of it is saved."""

from __future__ import annotations

import time

from cdckit.api.record import Batch, Offset
from cdckit.api.sink import Sink
from cdckit.api.source import Source
from cdckit.api.source_counts import SourceCounts
from cdckit.api.state_store import StateStore
from cdckit.engine.notices import RunNotices


class Progress:
    """Saves the offset after the sink's flush, at the most once an interval, and tells the hooks.

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
    ) -> None:
        self.offset = saved
        self._saved = saved
        self._interval = interval_seconds
        self._sink = sink
        self._state = state
        self._source = source
        self._notices = notices
        self._counts = counts
        self._records = 0
        self._log_bytes = 0
        self._log_time_ms: int | None = None
        self._due = time.monotonic() + interval_seconds

    def took(self, batch: Batch) -> None:
        """Notes a batch that the sink was given; saves when it is time, or asked for."""
        self._records += len(batch.records)
        self._log_bytes += batch.log_bytes
        if batch.log_time_ms is not None:
            self._log_time_ms = batch.log_time_ms
        if batch.offset is not None:
            self.offset = batch.offset
            if batch.save or time.monotonic() >= self._due:
                self.save()

    def save(self) -> None:
        """Flushes the sink, then saves the offset; nothing where nothing is new.

        Raises:
            SinkError: the sink did not take something; the offset stays as it was.
            StateError: the offset cannot be saved.
        """
        self._due = time.monotonic() + self._interval
        if self.offset is None or self.offset == self._saved:
            return
        self._sink.flush()
        self._state.save_offset(self.offset)
        self._saved = self.offset
        self._source.committed(self.offset)
        self._notices.batch_committed(
            records=self._records,
            offset=self.offset,
            log_time_ms=self._log_time_ms,
            log_bytes=self._log_bytes,
            lag_bytes=self._source.lag_bytes(self.offset),
            lag_messages=self._source.lag_messages(self.offset),
            counts=self._counts.take(),
        )
        self._records = self._log_bytes = 0
