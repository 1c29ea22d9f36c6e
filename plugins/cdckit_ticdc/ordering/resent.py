"""Tells a row that was sent again from a new one where there are no watermarks: by the newest time of its key."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from cdckit.record import Record
from cdckit.struct import Struct


class NewestByKey:
    """Remembers the newest commit_ts of keys.

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
        if commit_ts > newest:
            self._newest.move_to_end(key)
        if len(self._newest) > self._limit:
            self._newest.popitem(last=False)
        return False
