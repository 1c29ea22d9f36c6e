"""Sums of rows' hashes modulo 2^128, in buckets by the hashes themselves."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Self

import numpy
from numpy.typing import NDArray

BUCKETS = 256
"""Of a million rows about 4,096 are in each. A hash's bucket is its first byte."""
_SIZE = 16
_WORDS = _SIZE // 4
_FEW = 128
"""So many hashes are added one by one: to call numpy costs more."""
_EXACT = 1 << 20
"""Of so many words of 32 bits a double has the sum, whatever they are."""
_MODULUS = 1 << 128


class Sums:
    """Those of some rows.

    Many hashes are added as columns of words of 32 bits, and only put together where the sums are asked for.

    Attributes:
        rows: how many rows there are.
    """

    __slots__ = ("_buckets", "_words", "_words_of", "rows")

    def __init__(self) -> None:
        self.rows = 0
        self._buckets = [0] * BUCKETS
        self._words: NDArray[numpy.float64] | None = None
        """By bucket and word what is not in the buckets yet."""
        self._words_of = 0
        """Of so many hashes."""

    def add(self, hashes: Sequence[bytes]) -> None:
        """Adds rows by their hashes, 16 bytes each."""
        self._change(hashes, 1)

    def remove(self, hashes: Sequence[bytes]) -> None:
        """Takes rows away."""
        self._change(hashes, -1)

    def _change(self, hashes: Sequence[bytes], sign: int) -> None:
        self.rows += sign * len(hashes)
        if len(hashes) < _FEW:
            buckets, number = self._buckets, int.from_bytes
            for one in hashes:
                buckets[one[0]] += sign * number(one)
            return
        for at in range(0, len(hashes), _EXACT):
            part = hashes[at : at + _EXACT]
            self._add_words(sign * _columns_of(part), len(part))

    def add_all(self, other: Sums) -> None:
        """Adds the rows of another."""
        if other._words is not None:
            self._add_words(other._words, other._words_of)
        self._buckets = [one + more for one, more in zip(self._buckets, other._buckets, strict=True)]
        self.rows += other.rows

    @property
    def buckets(self) -> list[int]:
        """The sums, each below 2^128."""
        return [one % _MODULUS for one in self._whole()]

    def less(self, other: Sums) -> list[int]:
        """By how much the buckets differ from another's: 0 where they are equal."""
        return [(one - more) % _MODULUS for one, more in zip(self._whole(), other._whole(), strict=True)]

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

    def _add_words(self, words: NDArray[numpy.float64], count: int) -> None:
        if self._words_of + count > _EXACT:
            self._whole()
        self._words = words if self._words is None else self._words + words
        self._words_of += count

    def _whole(self) -> list[int]:
        """The buckets with all that was added."""
        if self._words is not None:
            for bucket, words in enumerate(self._words.reshape(BUCKETS, _WORDS).tolist()):
                first, second, third, fourth = map(int, words)
                self._buckets[bucket] += (first << 96) + (second << 64) + (third << 32) + fourth
            self._words, self._words_of = None, 0
        return self._buckets


def _columns_of(hashes: Sequence[bytes]) -> NDArray[numpy.float64]:
    """By bucket the sums of each of the four words of hashes, one bucket's behind the other's."""
    data = b"".join(hashes)
    words = numpy.frombuffer(data, ">u4")
    first = numpy.frombuffer(data, numpy.uint8)[::_SIZE].astype(numpy.intp) * _WORDS
    places = first.repeat(_WORDS).reshape(-1, _WORDS) + _COLUMNS
    return numpy.bincount(places.reshape(-1), words, BUCKETS * _WORDS).astype(numpy.float64, copy=False)


_COLUMNS = numpy.arange(_WORDS)
