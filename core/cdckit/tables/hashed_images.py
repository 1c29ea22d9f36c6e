"""Hashes of images as Spark's workers make them: packets of thousands of rows, which the driver fetches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from cdckit.api.held import HASH_BYTES, Hashing, Image, ImageHashes, key_prefix
from cdckit.tables.streams import arrow_stream, rows_of

COLUMNS = (
    "topic string, keys binary, rows binary, gone binary, positions string, wanted binary, undecidable string, "
    "dropped string"
)
"""A packet's columns, as Spark's DDL."""

_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("keys", pa.binary()),
        ("rows", pa.binary()),
        ("gone", pa.binary()),
        ("positions", pa.string()),
        ("wanted", pa.binary()),
        ("undecidable", pa.string()),
        ("dropped", pa.string()),
    ]
)
_WANTED = pa.schema(
    [("key", pa.binary()), ("row", pa.binary()), ("position", pa.string()), ("told", pa.binary())]
)  # fmt: skip
_NOTHING = bytes(HASH_BYTES)
_BETWEEN = "\n"
"""Between positions, which are texts of digits, letters and dashes."""


def hashed(
    topic: str,
    keys: Sequence[bytes],
    rows: Sequence[bytes | None],
    hashing: Hashing,
    positions: Sequence[str] | None = None,
) -> ImageHashes:
    """The hashes of images, whose keys there are.

    Args:
        topic: as `Image.topic`.
        keys: as `Image.key`.
        rows: as `Image.row`.
        hashing: how.
        positions: as `Image.position`; None where they do not count.
    """
    digest, prefix = hashing.digest, key_prefix(topic)
    key_hashes = b"".join(map(digest, [prefix + key for key in keys]))
    gone = bytes(row is None for row in rows) if None in rows else b""
    row_hashes = b"".join(_NOTHING if row is None else digest(row) for row in rows)
    return ImageHashes(topic, key_hashes, row_hashes, gone, positions)


def wanted_places(hashes: ImageHashes, hashing: Hashing) -> list[int]:
    """Which of some images are those of wanted keys."""
    if not hashing.wanted:
        return []
    keys, wanted = hashes.keys, hashing.wanted
    begins = range(0, len(keys), HASH_BYTES)
    return [place for place, at in enumerate(begins) if keys[at : at + HASH_BYTES] in wanted]


def packet(hashes: ImageHashes) -> pa.RecordBatch:
    """A packet, on its way to the driver."""
    row = {
        "topic": hashes.topic,
        "keys": hashes.keys,
        "rows": hashes.rows,
        "gone": hashes.gone,
        "positions": None if hashes.positions is None else _BETWEEN.join(hashes.positions),
        "wanted": _stream(hashes.wanted),
        "undecidable": hashes.undecidable,
        "dropped": json.dumps(sorted(hashes.dropped)),
    }
    return pa.RecordBatch.from_pylist([row], _SCHEMA)


def unpacked(row: Any) -> ImageHashes:
    """What a packet's row, as Spark gives it, holds."""
    positions = None if row.positions is None else row.positions.split(_BETWEEN) if row.keys else []
    wanted = tuple(_images(row.topic, bytes(row.wanted)))
    keys, rows, gone = bytes(row.keys), bytes(row.rows), bytes(row.gone)
    return ImageHashes(row.topic, keys, rows, gone, positions, wanted, row.undecidable, json.loads(row.dropped))


def _stream(images: Sequence[Image]) -> bytes:
    if not images:
        return b""
    columns = [[getattr(image, name) for image in images] for name in _WANTED.names]
    return arrow_stream(pa.RecordBatch.from_pydict(dict(zip(_WANTED.names, columns, strict=True)), _WANTED))


def _images(topic: str, data: bytes) -> Iterator[Image]:
    if data:
        for rows in rows_of(data):
            for key, row, position, told in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                yield Image(topic, key, row, position, told)
