"""Rows in a file of this process, where there may be too many for the memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


class SpilledRows:
    """Rows of one schema, written first and read then.

    Args:
        path: of the file, which is not there yet.
        schema: of the rows.

    Attributes:
        rows: how many there are.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_stream(self._file, schema, options=_COMPRESSED)
        self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Takes more rows, unless some were read."""
        self._writer.write_batch(batch)
        self.rows += int(batch.num_rows)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if not self._file.closed:
            self._writer.close()
            self._file.close()
        with pa.OSFile(str(self._path), "rb") as file, pa.ipc.open_stream(file) as stream:
            yield from stream
