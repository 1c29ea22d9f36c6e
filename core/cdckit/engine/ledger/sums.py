"""Sums of rows' hashes modulo 2^128, in buckets by the hashes themselves."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Self

BUCKETS = 256
"""Of a million rows about 4,096 are in each. A hash's bucket is its first byte."""
_SHIFT = 120
_SIZE = 16
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

    def add(self, hashes: Iterable[int], rows: int) -> None:
        """Adds rows by their hashes, of which there are so many."""
        buckets = self._buckets
        for number in hashes:
            buckets[number >> _SHIFT] += number
        self.rows += rows

    def remove(self, hashes: Iterable[int], rows: int) -> None:
        """Takes rows away."""
        buckets = self._buckets
        for number in hashes:
            buckets[number >> _SHIFT] -= number
        self.rows -= rows

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
