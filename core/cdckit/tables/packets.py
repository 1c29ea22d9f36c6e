"""Packets as rows of Spark's: what a sink that keeps tables is handed through Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import pyarrow as pa

from cdckit.tables.sink import Packet

PACKET_SCHEMA = "topic string, layout string, bucket int, position string, rows bigint, data binary, mark string"
"""The columns of a batch of packets, as Spark's DDL."""

FIRST_BYTES = 512 << 10
"""So many bytes of packets has a task in bucket 0, the first ones; the others are in bucket 1. Where there are none of
these, as in small batches and those of files, all may be fetched at once."""

PacketRow: TypeAlias = tuple[str, str, int, str, int, bytes, str | None]
"""One row of these columns."""

_ARROW_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("layout", pa.string()),
        ("bucket", pa.int32()),
        ("position", pa.string()),
        ("rows", pa.int64()),
        ("data", pa.binary()),
        ("mark", pa.string()),
    ]
)


def packet_rows(packets: Iterable[Packet]) -> list[PacketRow]:
    """Packets of tables as rows, the first ones of a task."""
    return [_row(packet, 0) for packet in packets]


def _row(packet: Packet, bucket: int) -> PacketRow:
    return packet.topic, packet.layout, bucket, packet.position, packet.rows, packet.data, packet.mark


def table_packets(packets: Iterable[Packet], before: int = 0) -> pa.RecordBatch:
    """Packets of tables as a batch of rows.

    Args:
        packets: of one task.
        before: so many bytes of packets the task has made already.
    """
    rows = []
    for packet in packets:
        before += len(packet.data)
        rows.append(_row(packet, int(before > FIRST_BYTES)))
    return packet_batch(rows)


def packet_batch(rows: Sequence[PacketRow]) -> pa.RecordBatch:
    """Rows as a batch."""
    columns: Iterator[Sequence[object]] = zip(*rows, strict=True) if rows else iter([()] * len(_ARROW_SCHEMA))
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _ARROW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW_SCHEMA)
