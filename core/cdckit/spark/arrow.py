"""Messages as Arrow record batches, the form in which they cross between Python and the JVM."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa

from cdckit.messages import EncodedHeaders, Messages

SPARK_SCHEMA = (
    "topic string, partition int, key binary, value binary, headers array<struct<key: string, value: binary>>, "
    "timestamp timestamp, position string"
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


def from_arrow(batch: pa.RecordBatch) -> Messages:
    """The messages that `to_arrow` was given, in Python's objects again."""
    topics, partitions, keys, values, headers, timestamps, positions = batch.columns
    return Messages(
        topics=topics.to_pylist(),
        partitions=partitions.to_pylist(),
        keys=keys.to_pylist(),
        values=values.to_pylist(),
        headers=_headers_from_arrow(headers),
        positions=positions.to_pylist(),
        timestamps=timestamps.cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64()).to_pylist(),
    )


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


def _headers_from_arrow(headers: pa.Array) -> list[EncodedHeaders]:
    flat = headers.flatten()
    if not len(flat):
        return [()] * len(headers)
    pairs = list(zip(flat.field(0).to_pylist(), flat.field(1).to_pylist(), strict=True))
    lengths = headers.value_lengths().to_pylist()
    ends = [0]
    for length in lengths:
        ends.append(ends[-1] + (length or 0))
    shared: dict[EncodedHeaders, EncodedHeaders] = {}
    groups = (tuple(pairs[start:end]) for start, end in pairwise(ends))
    return [shared.setdefault(group, group) for group in groups]
