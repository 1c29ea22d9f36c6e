"""Packets of MySQL's client/server protocol, found in the bytes as they arrive.

MySQL source documentation, "Client/Server Protocol", "MySQL Packets": three bytes of length, one of sequence, payload.
"""

from __future__ import annotations

from struct import Struct

from cdckit import DecodeError

Span = tuple[bytes, int, int]
"""A buffer, and where a payload begins and ends in it."""

PACKET_HEADER = 4
LONGEST = 0xFFFFFF
"""A payload of this length goes on in the next packet."""
LARGEST_PAYLOAD = (1 << 30) + LONGEST
"""More than any server sends: `max_allowed_packet` is 1 GiB at the most; an event's header may come on top."""

_EVENT_SIZE = PACKET_HEADER + 1 + 9
"""Where, in a packet, an event's header says how long the event is ("Binlog Event Header")."""
_HEAD = _EVENT_SIZE + 4

_WORD = Struct("<I").unpack_from


def packet_size(buffer: bytes, at: int) -> int:
    """The length of the payload of the packet whose header begins at `at`."""
    return int(_WORD(buffer, at)[0] & LONGEST)


class PacketBuffer:
    """Cuts a stream of bytes into packets. A payload is a span of the bytes that came in, not a copy.

    Only a payload that lies across two calls of `feed`, or that is longer than a packet may be, is put together anew.

    Args:
        lead: how many bytes at the start of each payload are left out of its span.
        events: whether payloads are a log's events behind a byte 0. One that has not come whole is looked at: a wrong
            length would have us wait for what is never sent, and take each heartbeat for a part of it.
    """

    __slots__ = ("_chunks", "_events", "_have", "_lead", "_long", "_missing")

    def __init__(self, lead: int = 0, *, events: bool = False) -> None:
        self._lead = lead
        self._events = events
        self._chunks: list[bytes] = []
        self._have = 0
        self._missing = PACKET_HEADER
        self._long: list[bytes] = []

    def feed(self, data: bytes) -> list[Span]:
        """Take the next bytes and give the payloads that are complete with them, in order.

        Raises:
            DecodeError: a payload goes on beyond what a server sends, or is longer than its event says.
        """
        self._have += len(data)
        if self._chunks:
            # Pieces of a packet are put together once it is whole. Joining at each arrival would copy an event of 1 GiB
            # for each 128 KiB of it.
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
        at, last = 0, len(data) - PACKET_HEADER
        skipped = PACKET_HEADER + self._lead
        self._missing = PACKET_HEADER
        while at <= last:
            size = _WORD(data, at)[0] & LONGEST
            behind = at + PACKET_HEADER + size
            # Without the rest of the packet there is nothing to cut; `feed` need not look again before it is here.
            if behind > last + PACKET_HEADER:
                self._missing = size + PACKET_HEADER
                if self._events and size < LONGEST and not self._long:
                    self._require_event(data, at, size)
                break
            if size == LONGEST or self._long:
                self._lengthen(data[at + PACKET_HEADER : behind], size, spans)
            else:
                # The bytes that came stay where they are: a span keeps them alive for as long as its event is used.
                spans.append((data, at + skipped, behind))
            at = behind
        rest = data[at:]
        self._chunks = [rest] if rest else []
        self._have = len(rest)
        return spans

    def _require_event(self, data: bytes, at: int, size: int) -> None:
        if len(data) - at < _HEAD:
            self._missing = min(self._missing, _HEAD)
        elif not data[at + PACKET_HEADER] and (told := _WORD(data, at + _EVENT_SIZE)[0]) != size - 1:
            raise DecodeError(f"a packet of {size:,} bytes holds an event of {told:,}: it was damaged on its way")

    def _lengthen(self, part: bytes, size: int, spans: list[Span]) -> None:
        self._long.append(part)
        if len(self._long) * LONGEST > LARGEST_PAYLOAD:
            raise DecodeError(f"a packet of more than {LARGEST_PAYLOAD:,} bytes, which no server sends")
        if size < LONGEST:
            whole = b"".join(self._long)
            self._long = []
            spans.append((whole, self._lead, len(whole)))
