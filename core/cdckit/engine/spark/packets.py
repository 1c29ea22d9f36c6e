"""Packets: many records as one row, which is all that the JVM sees of them on their way to a sink.

A batch of packets has the columns of `cdckit.tables.packets`. Those of a table sink hold typed rows, or no rows and a
text about a table mark; those for other sinks hold messages, put into buckets by their key where several splits are
read together: whoever gets a bucket whole, sorted by position, has each key's messages in order.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from operator import itemgetter
from zlib import crc32

import pyarrow as pa

from cdckit.api.messages import Messages
from cdckit.tables.packets import packet_batch

_COLUMNS = ("topics", "partitions", "keys", "values", "headers", "positions", "timestamps")


def written_packet(rows: int) -> pa.RecordBatch:
    """What is left of messages that are written already: how many there were."""
    return packet_batch([("", "", 0, "", rows, b"", None)])


def message_packets(messages: Messages, buckets: int) -> pa.RecordBatch:
    """Messages as rows, one for each bucket that has any."""
    if buckets < 2:
        shares = {0: messages} if len(messages) else {}
    else:
        shares = {bucket: _taken(messages, places) for bucket, places in _places(messages, buckets).items()}
    rows = [("", "", bucket, share.positions[0], len(share), dumped(share), None) for bucket, share in shares.items()]
    return packet_batch(rows)


def messages_of(data: bytes | pa.Buffer) -> Messages:
    """The messages in a packet's column `data`; those that shared their headers do so again."""
    with pa.CompressedInputStream(pa.BufferReader(data), "lz4") as plain:
        return Messages(*pickle.load(plain))  # noqa: S301 - this project's own worker wrote it


def dumped(messages: Messages) -> bytes:
    """A packet of messages, which `messages_of` reads; compressed here, once, so that a shuffle moves a tenth."""
    # The JVM sees one row for thousands of messages, and has nothing to do for each. Pickle keeps the headers one that
    # messages share. It is compressed as it comes: memory for all of it, new for each packet, took as long as the rest.
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "lz4") as plain:
        pickle.dump([getattr(messages, name) for name in _COLUMNS], plain, pickle.HIGHEST_PROTOCOL)
    data: bytes = packed.getvalue().to_pybytes()
    return data


def _places(messages: Messages, buckets: int) -> dict[int, list[int]]:
    places: dict[int, list[int]] = {}
    for place, key in enumerate(messages.keys):
        # By a hash that is the same in every process, which Python's own is not.
        places.setdefault(crc32(key or b"") % buckets, []).append(place)
    return places


def _taken(messages: Messages, places: Sequence[int]) -> Messages:
    take = itemgetter(*places) if len(places) > 1 else lambda column: (column[places[0]],)
    return Messages(*(list(take(getattr(messages, name))) for name in _COLUMNS))
