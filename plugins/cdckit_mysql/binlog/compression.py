"""Compressed parts of the log: MariaDB's compressed events and MySQL's compressed transactions.

MariaDB knowledge base, "Compressing Events to Reduce Size of the Binary Log"; MySQL reference manual, "Binary Log
Transaction Compression", and its source documentation, "class Transaction_payload_event".
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct

import zstandard

from cdckit.errors import DecodeError

_ZLIB = 0
_ZSTD = 0
_UNCOMPRESSED = 255
_CHUNK = 1 << 17
_PAYLOAD_SIZE, _PAYLOAD_COMPRESSION = 1, 2
_EVENT_SIZE = Struct("<I").unpack_from
_SIZE_IN_HEADER = 9
_HEADER_SIZE = 19


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
    try:
        plain = zlib.decompress(memoryview(data)[start + 1 + width : end], bufsize=size or 1)
    except zlib.error as error:
        raise DecodeError(f"a compressed event is damaged: {error}") from error
    if len(plain) != size:
        raise DecodeError(f"a compressed event holds {len(plain)} bytes where it says {size}")
    return plain


def payload_events(data: bytes, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """The events of a compressed transaction: each a buffer with the event's start and end in it.

    Decompressed piece by piece: memory holds a piece and one event at a time.

    Raises:
        DecodeError: the algorithm is not known, or the data is damaged.
    """
    compression, body = _payload_header(data, start, end)
    buffer, at = b"", 0
    for piece in _plain_pieces(data, body, end, compression):
        buffer, at = buffer[at:] + piece, 0
        while len(buffer) - at >= _HEADER_SIZE:
            size: int = _EVENT_SIZE(buffer, at + _SIZE_IN_HEADER)[0]
            if size < _HEADER_SIZE:
                raise DecodeError(f"an event of {size} bytes stands in a compressed transaction")
            if len(buffer) - at < size:
                break
            yield buffer, at, at + size
            at += size
    if at != len(buffer):
        raise DecodeError("a compressed transaction ends in the middle of an event")


def _payload_header(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The compression and where the payload begins: fields of type, length and value, ended by type 0."""
    compression = _UNCOMPRESSED
    while at < end:
        field, at = packed_integer(data, at)
        if field == 0:
            break
        length, at = packed_integer(data, at)
        if field == _PAYLOAD_COMPRESSION:
            compression, _ = packed_integer(data, at)
        at += length
    return compression, at


def _plain_pieces(data: bytes, start: int, end: int, compression: int) -> Iterator[bytes]:
    if compression == _UNCOMPRESSED:
        yield data[start:end]
        return
    if compression != _ZSTD:
        raise DecodeError(f"a transaction is compressed by algorithm {compression}, which is not known")
    reader = zstandard.ZstdDecompressor().stream_reader(memoryview(data)[start:end], read_across_frames=True)
    try:
        while piece := reader.read(_CHUNK):
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
