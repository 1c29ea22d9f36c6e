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
_FEW = 16
"""So many hashes are added one by one: to call numpy costs more."""
_EXACT = 1 << 20
"""Of so many words of 32 bits a double has the sum, whatever they are."""
_ROOM = 1 << 30
"""Of so many words of 32 bits an integer of 64 bits has the sum, and has room for as many again."""
_BITS = 32
_LOW = (1 << _BITS) - 1

Words = NDArray[numpy.int64]
"""By word and bucket a sum, the highest word first; what is above 32 bits belongs to the word before."""


class Sums:
    """Those of some rows.

    Hashes are added as words of 32 bits; what goes over from one to the next is carried where the sums are asked for.

    Attributes:
        rows: how many rows there are.
    """

    __slots__ = ("_few", "_held", "_words", "rows")

    def __init__(self) -> None:
        self.rows = 0
        self._words: Words | None = None
        """None: 0."""
        self._held = 0
        """So many hashes are in the words at the most."""
        self._few: dict[int, int] = {}
        """By bucket what was added one by one, and is not in the words yet."""

    def add(self, hashes: Sequence[bytes]) -> None:
        """Adds rows by their hashes, 16 bytes each."""
        self._change(hashes, 1)

    def remove(self, hashes: Sequence[bytes]) -> None:
        """Takes rows away."""
        self._change(hashes, -1)

    def _change(self, hashes: Sequence[bytes], sign: int) -> None:
        self.rows += sign * len(hashes)
        if len(hashes) < _FEW:
            few, number = self._few, int.from_bytes
            for one in hashes:
                bucket = one[0]
                few[bucket] = few.get(bucket, 0) + sign * number(one)
            return
        for at in range(0, len(hashes), _EXACT):
            part = hashes[at : at + _EXACT]
            self._add_words(sign * _words_of(part), len(part))

    def add_all(self, other: Sums) -> None:
        """Adds the rows of another."""
        if other._words is not None:
            self._add_words(other._words, other._held)
        for bucket, number in other._few.items():
            self._few[bucket] = self._few.get(bucket, 0) + number
        self.rows += other.rows

    @property
    def buckets(self) -> list[int]:
        """The sums, each below 2^128."""
        data = self._to_bytes()
        return [int.from_bytes(data[at : at + _SIZE]) for at in range(0, len(data), _SIZE)]

    def less(self, other: Sums) -> list[int]:
        """By how much the buckets differ from another's: 0 where they are equal."""
        return [(one - more) % _MODULUS for one, more in zip(self.buckets, other.buckets, strict=True)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sums) and self.rows == other.rows and self._to_bytes() == other._to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def to_text(self) -> str:
        """All buckets as text."""
        return base64.b64encode(self._to_bytes()).decode()

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
        made._words = numpy.frombuffer(data, ">u4").reshape(BUCKETS, _WORDS).T.astype(numpy.int64)
        made._held, made.rows = 1, rows
        return made

    def _add_words(self, words: Words, held: int) -> None:
        if self._held + held > _ROOM:
            self._carry()
        self._words = words if self._words is None else self._words + words
        self._held += held

    def _to_bytes(self) -> bytes:
        """The sums one behind the other, each as 16 bytes."""
        if self._words is None and not self._few:
            return bytes(BUCKETS * _SIZE)
        return self._carry().T.astype(">u4").tobytes()

    def _carry(self) -> Words:
        """The words, each below 2^32, with all that was added."""
        words = numpy.zeros((_WORDS, BUCKETS), numpy.int64) if self._words is None else self._words.copy()
        for bucket, number in self._few.items():
            for word in range(_WORDS):
                words[word, bucket] += number >> _BITS * (_WORDS - 1 - word) & _LOW
        for word in range(_WORDS - 1, 0, -1):
            words[word - 1] += words[word] >> _BITS
        words &= _LOW
        self._words, self._few, self._held = words, {}, 1
        return words


_MODULUS = 1 << 8 * _SIZE


def _words_of(hashes: Sequence[bytes]) -> Words:
    """The sums of the words of hashes."""
    data = b"".join(hashes)
    columns = numpy.frombuffer(data, ">u4").reshape(-1, _WORDS).T.astype(numpy.float64, order="C")
    first = numpy.frombuffer(data, numpy.uint8)[::_SIZE].astype(numpy.intp)
    return numpy.array([numpy.bincount(first, column, BUCKETS) for column in columns]).astype(numpy.int64)
