"""Sums of rows' hashes modulo 2^128, in buckets by the hashes themselves."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

try:
    import numpy
except ImportError:  # then hashes are added one by one
    if not TYPE_CHECKING:
        numpy = None

BUCKETS = 256
"""Of a million rows about 4,096 are in each. A hash's bucket is its first byte."""
_SIZE = 16
_MANY, _MOST = 512, 1 << 20
"""So many hashes are added column by column; and of so many the sums of 32 bits each are whole numbers in a double."""
_MODULUS = 1 << 128


class Sums:
    """Those of some rows.

    Attributes:
        rows: how many rows there are.
    """

    __slots__ = ("_buckets", "rows")

    def __init__(self) -> None:
        self.rows = 0
        self._buckets = [0] * BUCKETS

    def add(self, hashes: Sequence[bytes]) -> None:
        """Adds rows by their hashes, 16 bytes each."""
        self.rows += len(hashes)
        if len(hashes) < _MANY or numpy is None:
            buckets, number = self._buckets, int.from_bytes
            for one in hashes:
                buckets[one[0]] += number(one)
        else:
            self._buckets = [one + more for one, more in zip(self._buckets, _added(hashes), strict=True)]

    def remove(self, hashes: Sequence[bytes]) -> None:
        """Takes rows away."""
        self.rows -= len(hashes)
        if len(hashes) < _MANY or numpy is None:
            buckets, number = self._buckets, int.from_bytes
            for one in hashes:
                buckets[one[0]] -= number(one)
        else:
            self._buckets = [one - less for one, less in zip(self._buckets, _added(hashes), strict=True)]

    def add_all(self, other: Sums) -> None:
        """Adds the rows of another."""
        self._buckets = [one + more for one, more in zip(self._buckets, other._buckets, strict=True)]
        self.rows += other.rows

    @property
    def buckets(self) -> list[int]:
        """The sums, each below 2^128."""
        return [one % _MODULUS for one in self._buckets]

    def less(self, other: Sums) -> list[int]:
        """By how much the buckets differ from another's: 0 where they are equal."""
        return [(one - more) % _MODULUS for one, more in zip(self._buckets, other._buckets, strict=True)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sums) and self.rows == other.rows and not any(self.less(other))

    __hash__ = None  # type: ignore[assignment]

    def to_text(self) -> str:
        """All buckets as text."""
        return base64.b64encode(b"".join(one.to_bytes(_SIZE) for one in self.buckets)).decode()

    @classmethod
    def from_text(cls, text: str, rows: int) -> Self:
        """Reads what `to_text` gave.

        Raises:
            ValueError: it is nothing of that kind.
        """
        data = base64.b64decode(text, validate=True)
        if len(data) != BUCKETS * _SIZE:
            raise ValueError(f"{len(data)} bytes are no {BUCKETS} sums")
        made = cls()
        made._buckets = [int.from_bytes(data[at : at + _SIZE]) for at in range(0, len(data), _SIZE)]
        made.rows = rows
        return made


def _added(hashes: Sequence[bytes]) -> list[int]:
    """The sums of many hashes: of each four columns of 32 bits, which are put together for the few buckets alone."""
    sums = [0] * BUCKETS
    for at in range(0, len(hashes), _MOST):
        data = b"".join(hashes[at : at + _MOST])
        words = numpy.frombuffer(data, ">u4").reshape(-1, _SIZE // 4)
        buckets = numpy.frombuffer(data, numpy.uint8)[::_SIZE].astype(numpy.intp)
        columns = [numpy.bincount(buckets, words[:, column], BUCKETS).tolist() for column in range(_SIZE // 4)]
        for bucket, (first, second, third, fourth) in enumerate(zip(*columns, strict=True)):
            sums[bucket] += (int(first) << 96) + (int(second) << 64) + (int(third) << 32) + int(fourth)
    return sums
