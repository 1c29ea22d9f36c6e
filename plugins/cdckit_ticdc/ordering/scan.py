"""Looks through messages without decoding rows: how far they are complete, and where the first is that is not."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping

from cdckit import DecodeError, Record
from cdckit_ticdc.decoding.decoder import Decoder, Peek
from cdckit_ticdc.events import Watermark
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import LogOffset, Partition
from cdckit_ticdc.ordering.damaged import UNREADABLE, stopped_at
from cdckit_ticdc.ordering.resent import RowsAtWatermark
from cdckit_ticdc.ordering.watermarks import Watermarks
from cdckit_ticdc.reading.log import MessageLog, Range
from cdckit_ticdc.records import time_of

_IDLE_SECONDS = 1.0
_PRUNED = 10_000
"""From how many rows on those below the watermark are looked for and forgotten."""


class Scan:
    """What lies beyond an offset.

    Args:
        decoder: tells what messages are, and learns definitions on the way.
        start: where to begin.
        passed_over: takes a message that cannot be understood, or raises a `DecodeError`.
    """

    def __init__(
        self,
        decoder: Decoder,
        start: LogOffset,
        passed_over: Callable[[Message, Exception], None] = stopped_at,
    ) -> None:
        self._decoder = decoder
        self._passed_over = passed_over
        self.start = start
        self._marks = Watermarks(start.resume, start.watermark)
        self._at = dict(start.resume)
        self._beyond: dict[Partition, _Rows] = {}

    def read(self, log: MessageLog, held: Mapping[Partition, Range]) -> None:
        """Reads on to the end of what partitions hold.

        Raises:
            DecodeError: a message cannot be understood.
        """
        begin = {partition: self._at.get(partition, found.low) for partition, found in held.items()}
        for partition in held:
            self._marks.add(partition)
        for chunks in log.read(begin, {partition: found.high for partition, found in held.items()}, _IDLE_SECONDS):
            for partition, messages, after, _ in chunks:
                for message in messages:
                    times, other = self._peek(message)
                    if isinstance(other, Watermark):
                        if self._marks.advance(partition, other.commit_ts):
                            self._prune()
                    elif other is None and times and max(times) >= self._marks.passed:
                        self._beyond.setdefault(partition, _Rows()).add(max(times), message.offset)
                self._at[partition] = after

    def _peek(self, message: Message) -> Peek:
        try:
            return self._decoder.peek(message)
        except DecodeError as error:
            self._passed_over(message, error)
            return Peek(())

    def _prune(self) -> None:
        """Forgets rows below the watermark."""
        for rows in self._beyond.values():
            if len(rows.times) > _PRUNED:
                rows.prune(self._marks.passed)

    def offset(self, log: MessageLog) -> LogOffset:
        """Up to where rows are complete, and where each partition must be read again for the rest."""
        passed = self._marks.passed
        resume = dict(self._at)
        delivered = RowsAtWatermark(self._decoder, self.start)
        delivered.move(passed)
        for partition, rows in self._beyond.items():
            rows.prune(passed)
            resume[partition] = min(rows.later(passed), default=resume[partition])
            self._note(delivered, log, partition, frozenset(rows.at(passed)))
        return LogOffset(resume, dict(self._at), passed, delivered.identities)

    def _note(self, delivered: RowsAtWatermark, log: MessageLog, partition: Partition, offsets: frozenset[int]) -> None:
        """Reads the rows of just the watermark's time once more: of the others no more than their places is kept."""
        if not offsets:
            return
        for chunks in log.read({partition: min(offsets)}, {partition: max(offsets) + 1}, _IDLE_SECONDS):
            for message in (message for chunk in chunks for message in chunk.messages if message.offset in offsets):
                try:
                    for event in self._decoder.decode(message):
                        if isinstance(event, Record):
                            delivered.note(event, time_of(event))
                except UNREADABLE as error:
                    self._passed_over(message, error)


class _Rows:
    """Times and offsets of a partition's rows, eight bytes each: there may be many before a watermark comes."""

    def __init__(self) -> None:
        self.times = array("Q")
        self.offsets = array("Q")

    def add(self, time: int, offset: int) -> None:
        self.times.append(time)
        self.offsets.append(offset)

    def prune(self, passed: int) -> None:
        """Forgets what is older than `passed`."""
        kept = [place for place, time in enumerate(self.times) if time >= passed]
        self.times, self.offsets = (array("Q", (column[at] for at in kept)) for column in (self.times, self.offsets))

    def at(self, passed: int) -> Iterator[int]:
        """The offsets of the rows of just this time."""
        return (offset for time, offset in zip(self.times, self.offsets, strict=True) if time == passed)

    def later(self, passed: int) -> Iterator[int]:
        """The offsets of the rows of later times."""
        return (offset for time, offset in zip(self.times, self.offsets, strict=True) if time > passed)
