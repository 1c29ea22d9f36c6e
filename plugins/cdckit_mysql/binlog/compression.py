"""Compressed parts of the log: MariaDB's compressed events and MySQL's compressed transactions.

MariaDB knowledge base, "Compressing Events to Reduce Size of the Binary Log"; MySQL reference manual, "Binary Log
Transaction Compression", and its source documentation, "class Transaction_payload_event".
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from struct import Struct

import zstandard

from cdckit import DecodeError

_ZLIB = 0
_ZSTD = 0
_UNCOMPRESSED = 255
_CHUNK = 1 << 17
_PAYLOAD_COMPRESSION, _PAYLOAD_PLAIN_SIZE = 2, 3
_EVENT_SIZE = Struct("<I").unpack_from
_SIZE_IN_HEADER = 9
_HEADER_SIZE = 19
LARGEST_EVENT = 1 << 30
"""Bytes: no server writes larger ones, since no replica would take them (`replica_max_allowed_packet`)."""


def inflate(data: bytes, start: int, end: int) -> bytes:
    """Decompress a part of one of MariaDB's compressed events.

    The first byte holds the algorithm in bits 4 to 6 and in bits 0 to 2 how many bytes, big end first, tell the size.

    Raises:
        DecodeError: the algorithm is not known, or the data is damaged.
    """
    kind = data[start]
    algorithm, width = kind >> 4 & 7, kind & 7
    if algorithm != _ZLIB:
        raise DecodeError(f"MariaDB's compression algorithm {algorithm} is not known")
    size = int.from_bytes(data[start + 1 : start + 1 + width], "big")
    if size > LARGEST_EVENT:
        raise DecodeError(
            f"a compressed event says that it holds {size} bytes; the largest there is has {LARGEST_EVENT}"
        )
    reader = zlib.decompressobj()
    try:
        # One byte more than it says, so that more is noticed and never held: a damaged event may be a bomb.
        plain = reader.decompress(memoryview(data)[start + 1 + width : end], size + 1)
    except zlib.error as error:
        raise DecodeError(f"a compressed event is damaged: {error}") from error
    if len(plain) != size or not reader.eof:
        found = "more" if len(plain) > size else len(plain)
        raise DecodeError(f"a compressed event holds {found} bytes where it says {size}")
    return plain


def payload_events(data: bytes, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """The events of a compressed transaction: each a buffer with the event's start and end in it.

    Decompressed piece by piece: memory holds a piece and one event at a time, and every byte is copied twice at the
    most, however large the events are.

    Raises:
        DecodeError: the algorithm is not known, or the data is damaged, or there is more of it than it says.
    """
    pieces, unread, wanted = BytesIO(), 0, _HEADER_SIZE
    for piece in _plain_pieces(data, _payload_header(data, start, end), end):
        unread += pieces.write(piece)
        # Pieces are looked at once an event is whole in them, or a copy of a large one would be made for each piece.
        if unread < wanted:
            continue
        buffer = pieces.getvalue()  # not a copy: the object is let go of
        at, wanted = 0, _HEADER_SIZE
        while len(buffer) - at >= _HEADER_SIZE:
            size: int = _EVENT_SIZE(buffer, at + _SIZE_IN_HEADER)[0]
            if not _HEADER_SIZE <= size <= LARGEST_EVENT:
                raise DecodeError(f"an event of {size} bytes stands in a compressed transaction")
            if len(buffer) - at < size:
                wanted = size
                break
            yield buffer, at, at + size
            at += size
        pieces = BytesIO()
        unread = pieces.write(memoryview(buffer)[at:])
    if unread:
        raise DecodeError("a compressed transaction ends in the middle of an event")


@dataclass(frozen=True, slots=True)
class _Payload:
    """What stands before a compressed transaction's payload.

    Attributes:
        compression: the algorithm.
        plain_size: how many bytes there will be; None where it does not say.
        start: where the payload begins.
    """

    compression: int
    plain_size: int | None
    start: int


def _payload_header(data: bytes, at: int, end: int) -> _Payload:
    """Fields of type, length and value, ended by type 0."""
    found: dict[int, int] = {}
    while at < end:
        field, at = packed_integer(data, at)
        if field == 0:
            break
        length, at = packed_integer(data, at)
        if field in (_PAYLOAD_COMPRESSION, _PAYLOAD_PLAIN_SIZE):
            found[field], _ = packed_integer(data, at)
        at += length
    return _Payload(found.get(_PAYLOAD_COMPRESSION, _UNCOMPRESSED), found.get(_PAYLOAD_PLAIN_SIZE), at)


def _plain_pieces(data: bytes, payload: _Payload, end: int) -> Iterator[bytes]:
    """The payload, piece by piece; no more of it than it says that there is."""
    if payload.compression == _UNCOMPRESSED:
        yield data[payload.start : end]
        return
    if payload.compression != _ZSTD:
        raise DecodeError(f"a transaction is compressed by algorithm {payload.compression}, which is not known")
    compressed = memoryview(data)[payload.start : end]
    # A payload may consist of several frames.
    reader = zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)
    size = 0
    try:
        while piece := reader.read(_CHUNK):
            size += len(piece)
            if payload.plain_size is not None and size > payload.plain_size:
                raise DecodeError(
                    f"a compressed transaction holds more than the {payload.plain_size} bytes that it says"
                )
            yield piece
    except zstandard.ZstdError as error:
        raise DecodeError(f"a compressed transaction is damaged: {error}") from error


def packed_integer(data: bytes, at: int) -> tuple[int, int]:
    """A length-encoded integer of MySQL's protocol, and where it ends."""
    first = data[at]
    if first < 251:
        return first, at + 1
    width = {252: 2, 253: 3, 254: 8}.get(first)
    if width is None:
        raise DecodeError(f"byte {first} cannot begin a length")
    return int.from_bytes(data[at + 1 : at + 1 + width], "little"), at + 1 + width
