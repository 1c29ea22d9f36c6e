"""Rows in a file of this process, where there may be too many for the memory, and rows as a stream, one by one.

Both are Arrow's IPC format: a message with the schema, then one for each batch
(https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from arro3.core import RecordBatch, RecordBatchReader, Schema, Table
from arro3.io import read_ipc_stream, write_ipc_stream

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from arro3.core.types import ArrowArrayExportable, ArrowSchemaExportable

_PREFIX = 8
"""Before a message's metadata four bytes that tell it from other data, and four with its length."""
_END = 8
"""So many bytes stand behind the last message."""


class SpilledRows:
    """Rows of one schema, written first and read then.

    Args:
        path: of the file, which is not there yet.
        schema: of the rows.

    Attributes:
        rows: how many there are.
    """

    def __init__(self, path: Path, schema: ArrowSchemaExportable) -> None:
        self._path = path
        self._file = path.open("wb")
        self._file.write(_heading(schema))
        self.rows = 0

    def write(self, batch: ArrowArrayExportable) -> None:
        """Takes more rows, unless some were read."""
        rows = RecordBatch.from_arrow(batch)
        self._file.write(_message(rows, "LZ4"))
        self.rows += rows.num_rows

    def __iter__(self) -> Iterator[RecordBatch]:
        self._file.close()
        yield from read_ipc_stream(self._path)


def streamed(schema: Schema, batches: Iterable[RecordBatch]) -> RecordBatchReader:
    """Batches of one schema, each of which is made when the one before it was taken."""
    return read_ipc_stream(_Messages(schema, batches))  # type: ignore[arg-type]  # it only reads


class _Messages(RawIOBase):
    """The bytes of a stream.

    Args:
        schema: of the rows.
        batches: the rows.
    """

    def __init__(self, schema: ArrowSchemaExportable, batches: Iterable[RecordBatch]) -> None:
        self._left = memoryview(_heading(schema))
        self._batches = iter(batches)

    def readable(self) -> bool:
        """That is all it is."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """The next bytes; none where there are no more rows."""
        room = memoryview(buffer)
        while not self._left and (batch := next(self._batches, None)) is not None:
            self._left = _message(batch)
        size = min(len(room), len(self._left))
        room[:size], self._left = self._left[:size], self._left[size:]
        return size


def _heading(schema: ArrowSchemaExportable) -> memoryview:
    """The message of a schema."""
    data = _stream(Schema.from_arrow(schema).empty_table())
    return data[:-_END]


def _message(rows: RecordBatch, compression: Literal["LZ4"] | None = None) -> memoryview:
    """The message of a batch."""
    data = _stream(rows, compression)
    return data[_PREFIX + int.from_bytes(data[4:_PREFIX], "little") : -_END]


def _stream(rows: RecordBatch | Table, compression: Literal["LZ4"] | None = None) -> memoryview:
    out = BytesIO()
    write_ipc_stream(rows, out, compression=compression)
    return out.getbuffer()
