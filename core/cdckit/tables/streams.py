"""Rows on their way through Spark: as Arrow IPC streams, which its workers make and its driver reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from arro3.core.types import ArrowArrayExportable

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


def arrow_stream(rows: ArrowArrayExportable) -> bytes:
    """Rows as an Arrow IPC stream, compressed."""
    batch = pa.record_batch(rows)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema, options=_COMPRESSED) as stream:
        stream.write_batch(batch)
    written: bytes = out.getvalue().to_pybytes()
    return written


def rows_of(data: bytes) -> Iterator[pa.RecordBatch]:
    """The rows of an Arrow IPC stream."""
    with pa.ipc.open_stream(data) as stream:
        yield from stream
