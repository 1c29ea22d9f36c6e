"""Looks through messages without decoding rows: how far they are complete, and where the first is that is not."""

from __future__ import annotations

from collections.abc import Mapping

from cdckit.record import Record
from cdckit_ticdc.decoding.decoder import Decoder
from cdckit_ticdc.events import Watermark
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import LogOffset, Partition
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
    """

    def __init__(self, decoder: Decoder, start: LogOffset) -> None:
        self._decoder = decoder
        self.start = start
        self._marks = Watermarks(start.resume, start.watermark)
        self._at = dict(start.resume)
        self._beyond: dict[Partition, list[tuple[int, Message]]] = {}

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
                    times, other = self._decoder.peek(message)
                    if isinstance(other, Watermark):
                        if self._marks.advance(partition, other.commit_ts):
                            self._prune()
                    elif other is None and max(times, default=0) >= self._marks.passed:
                        self._beyond.setdefault(partition, []).append((max(times), message))
                self._at[partition] = after

    def _prune(self) -> None:
        """Forgets rows below the watermark."""
        for partition, rows in self._beyond.items():
            if len(rows) > _PRUNED:
                self._beyond[partition] = [row for row in rows if row[0] >= self._marks.passed]

    def offset(self) -> LogOffset:
        """Up to where rows are complete, and where each partition must be read again for the rest."""
        passed = self._marks.passed
        resume = dict(self._at)
        delivered = RowsAtWatermark(self._decoder, self.start)
        delivered.move(passed)
        for partition, rows in self._beyond.items():
            left = self._beyond[partition] = [row for row in rows if row[0] >= passed]
            for time, message in left:
                if time == passed:
                    self._note(delivered, message)
                else:
                    resume[partition] = min(message.offset, resume[partition])
        return LogOffset(resume, dict(self._at), passed, delivered.identities)

    def _note(self, delivered: RowsAtWatermark, message: Message) -> None:
        for event in self._decoder.decode(message):
            if isinstance(event, Record):
                delivered.note(event, time_of(event))
