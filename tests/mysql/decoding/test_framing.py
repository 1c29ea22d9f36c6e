"""Packets found in a stream of bytes, however it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cdckit.errors import DecodeError
from cdckit_mysql.binlog import framing
from cdckit_mysql.binlog.framing import LONGEST, PacketBuffer, Span


def packet(payload: bytes, number: int = 0) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number % 256]) + payload


def payloads(spans: list[Span]) -> list[bytes]:
    return [buffer[start:end] for buffer, start, end in spans]


@given(st.lists(st.binary(min_size=1, max_size=40)), st.lists(st.integers(1, 60)), st.integers(0, 1))
def test_payloads_come_out_whole_and_in_order(sent: list[bytes], cuts: list[int], lead: int) -> None:
    stream = b"".join(packet(payload, number) for number, payload in enumerate(sent))
    packets = PacketBuffer(lead)
    found: list[bytes] = []
    for size in cuts:
        piece, stream = stream[:size], stream[size:]
        found += payloads(packets.feed(piece))
    found += payloads(packets.feed(stream))
    assert found == [payload[lead:] for payload in sent]
    assert packets.pending == 0


def test_a_payload_of_many_packets() -> None:
    payload = bytes(range(256)) * 65_536 * 2
    parts = [payload[:LONGEST], payload[LONGEST : 2 * LONGEST], payload[2 * LONGEST :]]
    stream = b"".join(packet(part, number) for number, part in enumerate(parts)) + packet(b"next")
    packets = PacketBuffer(lead=1)
    found = [
        payload
        for at in range(0, len(stream), 1 << 20)
        for payload in payloads(packets.feed(stream[at : at + (1 << 20)]))
    ]
    assert found == [payload[1:], b"ext"]


def test_a_payload_whose_length_is_that_of_full_packets() -> None:
    payload = b"x" * LONGEST
    packets = PacketBuffer()
    assert packets.feed(packet(payload)) == []
    assert payloads(packets.feed(packet(b"") + packet(b"y"))) == [payload, b"y"]


def test_spans_are_no_copies() -> None:
    data = packet(b"one") + packet(b"two")
    assert all(buffer is data for buffer, _, _ in PacketBuffer().feed(data))


def event(body: bytes) -> bytes:
    """Behind the byte 0: time, type and server, the length, and the rest of the header."""
    return bytes(1 + 9) + (19 + len(body)).to_bytes(4, "little") + bytes(6) + body


@given(st.lists(st.binary(max_size=40), min_size=1), st.lists(st.integers(1, 60)))
def test_events_come_out_whole(bodies: list[bytes], cuts: list[int]) -> None:
    sent = [event(body) for body in bodies]
    stream = b"".join(map(packet, sent))
    packets, found = PacketBuffer(lead=1, events=True), list[bytes]()
    for size in [*cuts, len(stream)]:
        piece, stream = stream[:size], stream[size:]
        found += payloads(packets.feed(piece))
    assert found == [payload[1:] for payload in sent]


@given(st.binary(max_size=40), st.integers(0, 23), st.integers(1, 30))
def test_a_length_with_a_turned_bit_is_not_waited_for(body: bytes, bit: int, cut: int) -> None:
    whole = packet(event(body))
    damaged = (int.from_bytes(whole[:3], "little") ^ 1 << bit).to_bytes(3, "little") + whole[3:]
    packets = PacketBuffer(lead=1, events=True)
    try:
        spans = packets.feed(damaged[:cut]) + packets.feed(damaged[cut:])
    except DecodeError as error:
        assert "damaged on its way" in str(error)
    else:
        assert spans, "a shorter one comes, with an event that is not whole"


def test_a_payload_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "LARGEST_PAYLOAD", 2 * LONGEST)
    packets = PacketBuffer()
    part = packet(b"x" * LONGEST)
    assert packets.feed(part) + packets.feed(part) == []
    with pytest.raises(DecodeError, match="which no server sends"):
        packets.feed(part)
