"""Log files that differ a little from recorded ones, the same ones for the same seed."""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import zstandard

from cdckit.errors import DecodeError
from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.compression import payload_events
from fuzz.documents import mutated_bytes

RECORDED = Path(__file__).parent / "recorded"
"""Files that `record_logs` has made: without checksums, each event's place in its header."""
MAGIC = b"\xfebin"

_HEADER, _TYPE, _SIZE, _FLAGS = 19, 4, 9, 17
_BEGINNINGS = frozenset(
    {event_types.GTID, event_types.ANONYMOUS_GTID, event_types.TAGGED_GTID, event_types.MARIADB_GTID}
)
_KNOWN_TYPES = (2, 3, 4, 5, 13, 14, 15, 16, 18, 19, 23, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
                41, 42, 50, 160, 161, 162, 163, 164, 165, 166, 169, 170, 171)  # fmt: skip


@dataclass(frozen=True)
class Recording:
    """A recorded file, cut where transactions begin.

    Attributes:
        name: the file's.
        head: the events that the file begins with.
        transactions: the events of each.
    """

    name: str
    head: list[bytes]
    transactions: list[list[bytes]]


def recordings(flavor: str) -> list[Recording]:
    """Those of `mysql` or `mariadb`."""
    return [_recording(path) for path in sorted(RECORDED.glob(f"{flavor}.*.xz"))]


def _recording(path: Path) -> Recording:
    parts: list[list[bytes]] = [[]]
    for event in _events(lzma.decompress(path.read_bytes())):
        if event[_TYPE] in _BEGINNINGS:
            parts.append([])
        parts[-1].append(event)
    parts[0][0] = parts[0][0][:-4]  # a format's description has a checksum in any case
    return Recording(path.stem, parts[0], parts[1:])


def _events(content: bytes) -> Iterator[bytes]:
    at = len(MAGIC)
    while at < len(content):
        (size,) = struct.unpack_from("<I", content, at + _SIZE)
        yield content[at : at + size]
        at += size


def log_file(events: Sequence[bytes], *, checksums: bool) -> bytes:
    """A file of events, whose sizes, places and checksums are made right."""
    content = bytearray(MAGIC)
    for event in events:
        described = event[_TYPE] == event_types.FORMAT_DESCRIPTION
        size = len(event) + 4 * (checksums or described)
        made = bytearray(event)
        struct.pack_into("<II", made, _SIZE, size, (len(content) + size) & 0xFFFFFFFF)
        if described:
            made[-1] = int(checksums)
        content += made
        content += zlib.crc32(made).to_bytes(4, "little") if checksums or described else b""
    return bytes(content)


def damaged_file(recording: Recording, random: Random, kind: str) -> bytes:
    """A few transactions of a recording with some damage.

    Args:
        recording: where they are taken from.
        random: chooses.
        kind: `off`, `on`: bytes of a file without or with checksums are others; `right`: events are others, and their
            sizes, places and checksums fit again.
    """
    first = random.randrange(len(recording.transactions))
    taken = recording.transactions[first : first + random.choice((1, 2, 4))]
    events = [*recording.head, *(event for transaction in taken for event in transaction)]
    if kind != "right":
        content = log_file(events, checksums=kind == "on")
        begin = len(log_file(recording.head, checksums=kind == "on")) if random.random() < 0.9 else 0
        return content[:begin] + mutated_bytes(content[begin:], random, as_long=random.random() < 0.8)
    for _ in range(random.choice((1, 1, 2))):
        _damage(events, random)
    return log_file(events, checksums=random.random() < 0.5)


def _damage(events: list[bytes], random: Random) -> None:
    """One event is another one, gone, doubled, or elsewhere."""
    at = random.randrange(len(events))
    choice = random.random()
    if choice < 0.05:
        del events[at]
    elif choice < 0.08:
        events.insert(at, events[random.randrange(len(events))])
    elif choice < 0.10:
        events.insert(at, events.pop(random.randrange(len(events))))
    else:
        events[at] = damaged_event(events[at], random)
    events[:] = events or [bytes(_HEADER)]


def damaged_event(event: bytes, random: Random) -> bytes:
    """An event whose body is another one, on the inside where it is compressed."""
    choice = random.random()
    if choice < 0.05:
        return event[:_TYPE] + bytes([random.choice(_KNOWN_TYPES)]) + event[_TYPE + 1 :]
    if choice < 0.1:
        return mutated_bytes(event[:_TYPE], random)[:_TYPE].ljust(_TYPE) + event[_TYPE:]
    if choice < 0.9 and event[_TYPE] == event_types.TRANSACTION_PAYLOAD:
        return event[:_HEADER] + _payload_with_damage(event, random)
    if choice < 0.8 and (inside := _inside(event)):
        start, plain = inside
        return event[:start] + zlib.compress(mutated_bytes(plain, random))
    return event[:_HEADER] + mutated_bytes(event[_HEADER:], random)


def _payload_with_damage(event: bytes, random: Random) -> bytes:
    """A compressed transaction, one of whose events is another one."""
    try:
        inner = [buffer[at:end] for buffer, at, end in payload_events(event, _HEADER, len(event))]
    except DecodeError:  # it was damaged before
        return mutated_bytes(event[_HEADER:], random)
    at = random.randrange(len(inner))
    inner[at] = damaged_event(inner[at], random)
    if random.random() < 0.8:  # with its right size
        inner[at] = inner[at][:_SIZE] + len(inner[at]).to_bytes(4, "little") + inner[at][_SIZE + 4 :]
    plain = b"".join(inner)
    head = b"\x02\x01\x00\x03\x09\xfe" + len(plain).to_bytes(8, "little") + b"\x00"
    return head + zstandard.ZstdCompressor().compress(plain)


def _inside(event: bytes) -> tuple[int, bytes] | None:
    """What one of MariaDB's compressed events holds, and where that begins."""
    at = event.find(b"\x78", _HEADER)
    while at >= 0:
        try:
            return at, zlib.decompress(event[at:])
        except zlib.error:
            at = event.find(b"\x78", at + 1)
    return None
