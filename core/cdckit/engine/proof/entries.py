"""Images as entries of a fixed width: hashes, so that millions of rows can be held and put in order cheaply."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import add, itemgetter
from typing import Any

import numpy
from numpy.typing import NDArray

from cdckit.api.held import Hashing, Image, ImageColumns, ImageHashes, key_prefix
from cdckit.engine.proof.hashing import SIZE, Hash
from cdckit.errors import SinkError

PLAIN = struct.Struct("<16s16sIB")
_POSITIONED = struct.Struct("<16s16sIB96s")
KIND = struct.Struct("<IB")
_LONGEST_POSITION = 96
_NOTHING = bytes(16)
_MANY = 256
"""So many entries are put together at once; for fewer that takes longer than one by one."""

Block = NDArray[numpy.uint8]
"""Entries of rows, a line of bytes each."""


ROW, GONE, EMPTIED = 0, 1, 2
"""What an image says: there is a row, there is none any more, all rows of the topic are gone."""

Entry = tuple[bytes, bytes, int, int]
"""An image without its texts: the hash of topic and key, whose first byte says which bucket it belongs to; the hash of
the row; the topic's number; what it says."""

PlacedEntry = tuple[bytes, bytes, int, int, bytes]
"""The same with the position in the log behind it."""


class Entries:
    """Makes entries and reads them.

    Args:
        digest: the hash.
        positioned: whether entries keep the images' positions.
    """

    def __init__(self, digest: Hash, *, positioned: bool = False) -> None:
        self._digest = digest
        self._positioned = positioned
        self.width = (_POSITIONED if positioned else PLAIN).size
        self._topics: dict[str, tuple[int, bytes]] = {}

    @property
    def topics(self) -> list[str]:
        """The topics by their numbers."""
        return list(self._topics)

    def share(self, other: Entries) -> None:
        """Has the numbers of topics in common with another one."""
        self._topics = other._topics

    def number(self, topic: str) -> int:
        """A topic's number."""
        return self._topic(topic)[0]

    def key(self, topic: str, key: bytes) -> bytes:
        """The hash of a key."""
        return self._digest(self._topic(topic)[1] + key)

    def hashing(self, wanted: Collection[bytes]) -> Hashing:
        """How other processes hash, and the hashes of the keys whose images they are to give."""
        return Hashing(self._digest, frozenset(wanted))

    def of(self, images: Iterable[Image]) -> Iterator[bytes]:
        """The entries of images.

        Raises:
            SinkError: a position is longer than any source writes it.
        """
        for topic, group in groupby(images, key=itemgetter(0)):
            yield from self._of_topic(topic, zip(*group, strict=True))

    def told(self, images: Iterable[Image]) -> Iterator[bytes]:
        """The same with positions, and with the ledger's hashes of rows in place of those of keys and rows."""
        digest = self._digest
        for topic, key, row, position, told in images:
            number, name = self._topic(topic)
            kind = EMPTIED if key is None else GONE if row is None else ROW
            place = _NOTHING if key is None else digest(name + key)
            yield PLAIN.pack(place, told if kind == ROW else _NOTHING, number, kind) + _place(position)

    def of_columns(self, images: ImageColumns | Iterable[Image]) -> Iterable[bytes] | Block:
        """The same of images by columns, together where they are many; of others as `of`."""
        if not isinstance(images, ImageColumns):
            return self.of(images)
        if len(images.keys) < _MANY or self._positioned:
            return self._of_rows(*images)
        return self._block(images.topic, images.keys, images.rows)

    def _block(self, topic: str, keys: Sequence[bytes], rows: Sequence[bytes]) -> Block:
        hashed = b"".join(map(self._digest, rows))
        name = self._topic(topic)[1]
        return self.of_hashes(ImageHashes(topic, b"".join(map(self._digest, [name + key for key in keys])), hashed))

    def of_hashes(self, images: ImageHashes) -> Block:
        """The entries of images that another process has hashed.

        Raises:
            SinkError: a position is longer than any source writes it.
        """
        number = self._topic(images.topic)[0]
        keys = _lines(images.keys)
        block = numpy.empty((len(keys), self.width), numpy.uint8)
        block[:, :SIZE], block[:, SIZE : 2 * SIZE] = keys, _lines(images.rows)
        block[:, 2 * SIZE : PLAIN.size] = numpy.frombuffer(KIND.pack(number, ROW), numpy.uint8)
        if images.gone:
            gone = numpy.frombuffer(images.gone, numpy.bool_)
            block[gone, SIZE : 2 * SIZE] = 0
            block[gone, PLAIN.size - 1] = GONE
        if self._positioned:
            places = b"".join(map(_place, images.positions or ()))
            block[:, PLAIN.size :] = numpy.frombuffer(places, numpy.uint8).reshape(-1, _LONGEST_POSITION)
        return block

    def _of_topic(self, topic: str, columns: Iterator[tuple[Any, ...]]) -> Iterable[bytes]:
        """The entries of one topic's images, which come column by column."""
        _, keys, rows, positions, _ = columns
        if None not in keys and None not in rows:
            return self._of_rows(topic, keys, rows, positions)
        entries = self._mixed(*self._topic(topic), keys, rows)
        return map(add, entries, map(_place, positions)) if self._positioned else entries

    def _of_rows(
        self, topic: str, keys: Sequence[bytes], rows: Sequence[bytes], positions: Sequence[str] | None = None
    ) -> Iterable[bytes]:
        number, name = self._topic(topic)
        hashed, contents = map(self._digest, [name + key for key in keys]), map(self._digest, rows)
        kind = KIND.pack(number, ROW)
        entries = [key + content + kind for key, content in zip(hashed, contents, strict=True)]
        return map(add, entries, map(_place, positions or ())) if self._positioned else entries

    def _mixed(
        self, number: int, name: bytes, keys: Sequence[bytes | None], rows: Sequence[bytes | None]
    ) -> list[bytes]:
        digest, pack = self._digest, PLAIN.pack
        return [
            pack(_NOTHING, _NOTHING, number, EMPTIED)
            if key is None
            else pack(digest(name + key), _NOTHING, number, GONE)
            if row is None
            else pack(digest(name + key), digest(row), number, ROW)
            for key, row in zip(keys, rows, strict=True)
        ]

    def read(self, data: bytes) -> Iterator[Entry]:
        """The entries that were put together, of those that keep no position."""
        return PLAIN.iter_unpack(data)

    def read_placed(self, data: bytes) -> Iterator[PlacedEntry]:
        """The entries that were put together, of those that keep positions."""
        return _POSITIONED.iter_unpack(data)

    def _topic(self, topic: str) -> tuple[int, bytes]:
        return self._topics.setdefault(topic, (len(self._topics), key_prefix(topic)))


def _lines(hashes: bytes) -> Block:
    return numpy.frombuffer(hashes, numpy.uint8).reshape(-1, SIZE)


def _place(position: str) -> bytes:
    text = position.encode()
    if len(text) > _LONGEST_POSITION:
        raise SinkError(f"position {position}: it is longer than {_LONGEST_POSITION} bytes, which no source writes")
    return text.ljust(_LONGEST_POSITION, b"\0")
