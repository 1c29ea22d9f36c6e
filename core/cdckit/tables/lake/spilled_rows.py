"""Rows in a file of this process, where there may be too many for the memory.

It is in Arrow's IPC format: a message with the schema, then one for each batch
(https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format).
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from arro3.core import RecordBatch, Schema, Table
from arro3.io import read_ipc_stream, write_ipc_stream

if TYPE_CHECKING:
    from arro3.core.types import ArrowArrayExportable, ArrowSchemaExportable

_PREFIX = 8
"""Before a message's metadata four bytes that tell it from other data, and four with its length."""
_END = 8
"""So many bytes stand behind the last message."""


class SpilledRows:
    """Rows of one schema, written first and read then. The file is open only meanwhile: there may be thousands.

    Args:
        path: of the file, which is not there yet.
        schema: of the rows.

    Attributes:
        rows: how many there are.
    """

    def __init__(self, path: Path, schema: ArrowSchemaExportable) -> None:
        self._path = path
        self._path.write_bytes(_heading(schema))
        self.rows = 0

    def write(self, batch: ArrowArrayExportable) -> None:
        """Takes more rows."""
        rows = RecordBatch.from_arrow(batch)
        with self._path.open("ab") as file:
            file.write(_message(rows))
        self.rows += rows.num_rows

    def __iter__(self) -> Iterator[RecordBatch]:
        yield from read_ipc_stream(self._path)


def _heading(schema: ArrowSchemaExportable) -> memoryview:
    """The message of a schema."""
    data = _stream(Schema.from_arrow(schema).empty_table())
    return data[:-_END]


def _message(rows: RecordBatch) -> memoryview:
    """The message of a batch."""
    data = _stream(rows, "LZ4")
    return data[_PREFIX + int.from_bytes(data[4:_PREFIX], "little") : -_END]


def _stream(rows: RecordBatch | Table, compression: Literal["LZ4"] | None = None) -> memoryview:
    out = BytesIO()
    write_ipc_stream(rows, out, compression=compression)
    return out.getbuffer()
