"""Packets of MySQL's client/server protocol, found in the bytes as they arrive.

MySQL source documentation, "Client/Server Protocol", "MySQL Packets": three bytes of length, one of sequence, payload.
"""

from __future__ import annotations

Span = tuple[bytes, int, int]
"""A buffer, and where a payload begins and ends in it."""

_HEADER = 4
_LONGEST = 0xFFFFFF
"""A payload of this length goes on in the next packet."""


class PacketBuffer:
    """Cuts a stream of bytes into packets. A payload is a span of the bytes that came in, not a copy.

    Only a payload that lies across two calls of `feed`, or that is longer than a packet may be, is put together anew.
    """

    __slots__ = ("_chunks", "_have", "_long", "_missing")

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._have = 0
        self._missing = _HEADER
        self._long: list[bytes] = []

    def feed(self, data: bytes) -> list[Span]:
        """Take the next bytes and give the payloads that are complete with them, in order."""
        self._have += len(data)
        if self._chunks:
            self._chunks.append(data)
            if self._have < self._missing:
                return []
            data = b"".join(self._chunks)
            self._chunks = []
        return self._cut(data)

    @property
    def pending(self) -> int:
        """How many bytes of an unfinished packet are held."""
        return self._have

    def _cut(self, data: bytes) -> list[Span]:
        spans: list[Span] = []
        at, end = 0, len(data)
        self._missing = _HEADER
        while end - at >= _HEADER:
            size = data[at] | data[at + 1] << 8 | data[at + 2] << 16
            start = at + _HEADER
            if end - start < size:
                self._missing = size + _HEADER
                break
            at = start + size
            if size == _LONGEST or self._long:
                self._lengthen(data[start:at], size, spans)
            else:
                spans.append((data, start, at))
        rest = data[at:] if at else data
        self._chunks = [rest] if rest else []
        self._have = len(rest)
        return spans

    def _lengthen(self, part: bytes, size: int, spans: list[Span]) -> None:
        self._long.append(part)
        if size < _LONGEST:
            whole = b"".join(self._long)
            self._long = []
            spans.append((whole, 0, len(whole)))
