"""The log read in order by the planner: where signals are taken, one process has to read it.

It reads as the direct runner does, split after split and then open-ended, and keeps what came for the workers, who
transform, serialize and write it. A batch ends at an offset that the source gave; the next one is read on from there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from cdckit.api.batch import Batch
from cdckit.api.record import Offset
from cdckit.api.source import Source
from cdckit.api.undecoded import Undecoded
from cdckit.engine.runners.next_splits import next_splits
from cdckit.engine.spark.kept_batches import MEMBER, BatchWriter, KeptBatches, name_of, plain
from cdckit.engine.spark.kept_parts import Part
from cdckit.errors import CdcError, RetriableSourceError, SnapshotDueError

_LINGER_SECONDS = 0.5
"""So long a batch that has begun takes what still comes ..."""
_LATE_MS = 5_000
"""... and without a limit of time where that was committed so long ago: it catches up."""
_CHUNKS_SECONDS = 5.0
"""Where a table is read again, chunk by chunk, as long as the delivery of the batch before took, and no longer than so:
else each chunk would be a batch of its own, as the log is still while the next one is read."""


class ReadBatch(NamedTuple):
    """A batch that is kept.

    Attributes:
        end: where it ends; its rows are found by that.
        log_time_ms: when the newest change in it was committed, or None.
        log_bytes: how much of the log it took.
    """

    end: Offset
    log_time_ms: int | None
    log_bytes: int


class LogInOrder:
    """Reads the log of an open source.

    Args:
        source: is open, with the pipeline's state.
        kept: keeps what was read.
        between: called now and then while nothing comes.

    Attributes:
        finished: whether it has come to the end that it was given.
    """

    def __init__(self, source: Source, kept: KeptBatches, between: Callable[[], None] = lambda: None) -> None:
        self.finished = False
        self._source = source
        self._kept = kept
        self._between = between
        self._undecoded: list[Undecoded] = []
        self._reading: _Reading | None = None
        self._reached: Offset | None = None
        self._given: float | None = None

    def passed_over(self, piece: Undecoded) -> None:
        """Takes what the source cannot decode; the workers hand it over."""
        self._undecoded.append(piece)

    def read(self, start: Offset, max_bytes: int, wait_seconds: float, *, once: bool) -> ReadBatch | None:
        """The next batch behind `start`, whose rows are on the disk when it is returned.

        Args:
            start: where the one before ended, which is committed.
            max_bytes: about how much of the log it takes.
            wait_seconds: how long to wait for the first change.
            once: whether to read up to the log's end and to what snapshots are met on the way, and no further.

        Returns:
            None where nothing came.

        Raises:
            CdcError: the source cannot go on, and nothing came before that.
        """
        delivery = 0.0 if self._given is None else time.monotonic() - self._given
        self._given = None
        found = self._read_on(start, max_bytes, _Patience(wait_seconds, delivery), once=once)
        if found is not None:
            self._given = time.monotonic()
        return found

    def _read_on(self, start: Offset, max_bytes: int, patience: _Patience, *, once: bool) -> ReadBatch | None:
        if self._reached != start:
            self.close()
        carried_on = self._reading is not None
        try:
            return self._read(start, max_bytes, patience, once=once)
        except RetriableSourceError:
            # A connection may be gone because nobody read from it while a long batch was delivered.
            if not carried_on:
                raise
            return self._read(start, max_bytes, patience, once=once)

    def _read(self, start: Offset, max_bytes: int, patience: _Patience, *, once: bool) -> ReadBatch | None:
        if self._reading is None:
            self._reading = _Reading(self._source, plain(start), once=once)
        reading = self._reading
        self._undecoded.clear()
        with self._kept.writer() as writer:
            gathered = _Gathered(writer, max_bytes, patience, self._source.chunk_follows)
            try:
                ended = self._gather(reading, gathered)
            except CdcError:
                self.close()
                if gathered.end is None or not gathered.holds:
                    raise
                ended = False  # what came before the fault is delivered; it comes again behind that
            if ended:
                self.close()
                self.finished = reading.last
            if gathered.end is None or (not gathered.holds and gathered.end == plain(start)):
                if ended and reading.lost:
                    raise SnapshotDueError("the log is lost at the place to go on from: a new snapshot is taken")
                self._reached = start
                return None
            writer.finish()
        end = _as_spark_keeps_it({**gathered.end, MEMBER: writer.name})
        self._kept.forget_all_but({writer.name, name_of(start)})
        self._reached = end
        return ReadBatch(end, gathered.log_time_ms, gathered.log_bytes)

    def _gather(self, reading: _Reading, gathered: _Gathered) -> bool:
        """Reads on until the batch is full or it is time; whether the reading has ended."""
        for batch in reading.batches:
            gathered.take(batch, self._undecoded)
            if gathered.full(batch):
                return False
            if not batch.records:
                self._between()
        return True

    def close(self) -> None:
        """Lets go of what is read from; the next batch begins anew at its start."""
        reading, self._reading, self._reached = self._reading, None, None
        if reading is not None:
            with suppress(CdcError):
                reading.batches.close()


def _as_spark_keeps_it(offset: Offset) -> Offset:
    kept: Offset = json.loads(json.dumps(offset))
    return kept


class _Reading:
    """What is read from one place on.

    Attributes:
        batches: of the splits, one after another.
        last: whether the pipeline ends with them.
        lost: whether their end says that the log is lost.
    """

    def __init__(self, source: Source, start: Offset, *, once: bool) -> None:
        splits, self.last = next_splits(source, start, once)
        self.last = self.last or not splits
        self.lost = any(split.end is None for split in splits)
        self.batches = (batch for split in splits for batch in source.read(split))


class _Patience:
    """How long a batch waits, in seconds.

    Args:
        wait: for the first change.
        delivery: how long the batch before was delivered.
    """

    def __init__(self, wait: float, delivery: float) -> None:
        self.deadline = time.monotonic() + wait
        self.chunks = max(_LINGER_SECONDS, min(delivery, _CHUNKS_SECONDS))


class _Gathered:
    """What is to be one batch.

    Args:
        writer: keeps it.
        max_bytes: about how much of the log it may take.
        patience: how long it waits.
        chunk_follows: whether rows follow behind an offset though nothing changes.

    Attributes:
        end: the last offset that it may end at; None before there was one.
        holds: whether anything was told up to there.
    """

    def __init__(
        self, writer: BatchWriter, max_bytes: int, patience: _Patience, chunk_follows: Callable[[Offset], bool]
    ) -> None:
        self.end: Offset | None = None
        self.holds = False
        self.log_time_ms: int | None = None
        self.log_bytes = 0
        self._writer = writer
        self._max_bytes = max_bytes
        self._patience = patience
        self._chunk_follows = chunk_follows
        self._begun: float | None = None

    def take(self, batch: Batch, undecoded: list[Undecoded]) -> None:
        """Adds what has come."""
        self._writer.add(Part(batch.records, batch.marks, batch.log_bytes, tuple(undecoded)))
        undecoded.clear()
        self.log_bytes += batch.log_bytes
        self.log_time_ms = batch.log_time_ms or self.log_time_ms
        if self._begun is None and self._writer.told:
            self._begun = time.monotonic()
        if self._may_end(batch):
            self.end, self.holds = batch.offset, self._writer.told
            self._writer.passes()

    def full(self, batch: Batch) -> bool:
        """Whether it ends with this one."""
        if not self._may_end(batch):
            return False
        if batch.save or self.log_bytes >= self._max_bytes:
            return True
        now = time.monotonic()
        if self._begun is None:
            return now >= self._patience.deadline
        if batch.offset is not None and self._chunk_follows(batch.offset):
            # A chunk takes little of the log.
            return self._writer.bytes >= self._max_bytes or now >= self._begun + self._patience.chunks
        still = not (batch.records or batch.marks or batch.log_bytes)
        return still or (now >= self._begun + _LINGER_SECONDS and not _is_late(batch))

    def _may_end(self, batch: Batch) -> bool:
        return batch.offset is not None and not batch.repeats


def _is_late(batch: Batch) -> bool:
    return batch.log_time_ms is not None and time.time_ns() // 1_000_000 - batch.log_time_ms > _LATE_MS
