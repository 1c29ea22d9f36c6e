"""Tells a row that was sent again from a new one where its time alone does not."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import Any

from cdckit import Record, Struct
from cdckit_ticdc.decoding.decoder import Decoder
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import LogOffset, Partition
from cdckit_ticdc.records import time_of


class NewestByKey:
    """Remembers the newest commit_ts of keys, where there are no watermarks.

    After a restart TiCDC sends rows again from some time on, all of them in order. What was forgotten is therefore
    delivered again, and ends where it was.

    Args:
        limit: how many keys are remembered; those seen longest ago are forgotten first.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._newest: OrderedDict[tuple[str, tuple[Any, ...]], int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._newest)

    def is_older(self, record: Record, commit_ts: int) -> bool:
        """Whether a newer row of the same key has been seen; rows without a key never are."""
        if not isinstance(record.key, Struct):
            return False
        key = (record.topic, record.key.values)
        newest = self._newest.get(key, 0)
        if commit_ts < newest:
            return True
        self._newest[key] = commit_ts
        # A row that is sent again does not keep its key from being forgotten.
        if commit_ts > newest:
            self._newest.move_to_end(key)
        if len(self._newest) > self._limit:
            self._newest.popitem(last=False)
        return False


class RowsAtWatermark:
    """Knows the rows that were delivered with just the watermark's time.

    Rows below the watermark have all been sent before it; of those at it some may still come. One that was delivered
    must not be again, since the rest of its transaction is not.

    Args:
        decoder: makes records of messages.
        start: what was delivered before.
    """

    def __init__(self, decoder: Decoder, start: LogOffset) -> None:
        self._decoder = decoder
        self._start = start
        self._time = start.watermark
        self._identities: dict[str, None] = dict.fromkeys(start.at_watermark)

    @property
    def identities(self) -> tuple[str, ...]:
        """What is kept of the rows."""
        return tuple(self._identities)

    def move(self, watermark: int) -> None:
        """The watermark is another one: rows of its time have not been delivered yet."""
        if watermark != self._time:
            self._time = watermark
            self._identities.clear()

    def note(self, record: Record, time: int) -> None:
        """A record is delivered."""
        if time == self._time:
            self._identities[_identity(record)] = None

    def has(self, message: Message, time: int, partition: Partition) -> bool:
        """Whether the message's rows of this time were delivered."""
        if time > self._time or not self._time:
            return False
        if time <= self._start.watermark and message.offset < self._start.was_read(partition):
            return True
        rows = [event for event in self._decoder.decode(message) if isinstance(event, Record)]
        return all(self.has_record(row) for row in rows if time_of(row) == time)

    def has_record(self, record: Record) -> bool:
        """Whether a record of the watermark's time was delivered."""
        return _identity(record) in self._identities


def _identity(record: Record) -> str:
    """The record's content, but for when and where its message was made."""
    value = record.value
    assert isinstance(value, Struct)
    images = [image.values if isinstance(image, Struct) else None for image in (value["before"], value["after"])]
    key = record.key.values if isinstance(record.key, Struct) else None
    return blake2b(repr((record.topic, value["op"], key, *images)).encode(), digest_size=9).hexdigest()
