"""Messages as Arrow record batches: the rows of the data source `cdckit`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from cdckit.api.messages import EncodedHeaders, Messages

SPARK_SCHEMA = (
    "topic string, partition int, key binary, value binary, headers array<struct<key: string, value: binary>>, "
    "timestamp timestamp_ltz, position string"
)
"""The columns of the data source, as Spark's DDL."""

_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
_HEADERS = pa.list_(pa.field("element", _HEADER))
_TIMESTAMP = pa.timestamp("us", tz="UTC")

ARROW_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", _HEADERS),
        ("timestamp", _TIMESTAMP),
        ("position", pa.string()),
    ]
)
"""The same columns in Arrow's types."""


def to_arrow(messages: Messages) -> pa.RecordBatch:
    """The batch's columns as Arrow arrays."""
    columns = [
        pa.array(messages.topics, pa.string()),
        pa.array(messages.partitions, pa.int32()),
        pa.array(messages.keys, pa.binary()),
        pa.array(messages.values, pa.binary()),
        _headers_to_arrow(messages.headers),
        pa.array(messages.timestamps, pa.timestamp("ms", tz="UTC")).cast(_TIMESTAMP),
        pa.array(messages.positions, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)


def _headers_to_arrow(headers: Sequence[EncodedHeaders]) -> pa.Array:
    """Offsets and two flat columns: a list of dicts would cost microseconds a message."""
    ends = [0]
    keys: list[str] = []
    values: list[bytes | None] = []
    for group in headers:
        for key, value in group:
            keys.append(key)
            values.append(value)
        ends.append(len(keys))
    columns = [pa.array(keys, pa.string()), pa.array(values, pa.binary())]
    flat = pa.StructArray.from_arrays(columns, fields=list(_HEADER))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat, type=_HEADERS)
