"""Packets as rows of Spark's: what a sink that keeps tables is handed through Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import pyarrow as pa

from cdckit.tables.sink import Packet

PACKET_SCHEMA = "topic string, layout string, bucket int, position string, rows bigint, data binary, mark string"
"""The columns of a batch of packets, as Spark's DDL."""

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
    """Packets of tables as rows."""
    return [(p.topic, p.layout, 0, p.position, p.rows, p.data, p.mark) for p in packets]


def table_packets(packets: Iterable[Packet]) -> pa.RecordBatch:
    """Packets of tables as a batch of rows."""
    return packet_batch(packet_rows(packets))


def packet_batch(rows: Sequence[PacketRow]) -> pa.RecordBatch:
    """Rows as a batch."""
    columns: Iterator[Sequence[object]] = zip(*rows, strict=True) if rows else iter([()] * len(_ARROW_SCHEMA))
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _ARROW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW_SCHEMA)
