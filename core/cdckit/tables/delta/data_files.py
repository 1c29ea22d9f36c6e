"""Parquet files of Delta tables, written by whoever has the rows, on a disk or in an object store."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem, PyFileSystem, SubTreeFileSystem

from cdckit.tables.delta.files import DICTIONARY_BYTES, INDEXED, OURS, ROWS
from cdckit.tables.delta.statistics import Statistics
from cdckit.tables.lake.data_files import DataFile, DataFiles, DataFileWriter

_FAULTS = (OSError, pa.ArrowException, DeltaError)


class DeltaFiles(DataFiles):
    """Those of one table.

    Args:
        place: the table's folder or URL.
        storage: how an object store is reached.
        indexed: of how many columns there are statistics.
    """

    def __init__(self, place: str, storage: Mapping[str, str], indexed: int = INDEXED) -> None:
        self._place = place
        self._storage = storage
        self._indexed = indexed

    def writer(self, schema: pa.Schema) -> DataFileWriter:
        """Begins a file."""
        if "://" not in self._place:
            Path(self._place).mkdir(parents=True, exist_ok=True)
        return _Writer(self.filesystem(), schema, Statistics(schema, self._indexed))

    def any(self) -> bool:
        """Whether there is one, whoever has written it."""
        found = self.filesystem().get_file_info(FileSelector("", allow_not_found=True))
        return any(each.is_file and each.extension == "parquet" for each in found)

    def read(self, name: str) -> pa.Buffer:
        """All bytes of a file."""
        with self.filesystem().open_input_file(name) as file:
            return file.read_buffer()

    def remove(self, name: str) -> None:
        """Removes a file."""
        try:
            self.filesystem().delete_file(name)
        except DeltaError as error:
            raise OSError(str(error)) from error

    def filesystem(self) -> FileSystem:
        """What has the files, by their names below the table's folder."""
        if "://" not in self._place:
            return SubTreeFileSystem(str(Path(self._place).absolute()), LocalFileSystem())
        return PyFileSystem(_Store(self._place, dict(self._storage) or None))


class _Writer(DataFileWriter):
    def __init__(self, place: FileSystem, schema: pa.Schema, statistics: Statistics) -> None:
        self._place = place
        self._name = f"part-00000-{uuid4()}{OURS}"
        self._statistics = statistics
        self._file = place.open_output_stream(self._name)
        self._writer = pq.ParquetWriter(
            self._file, schema, compression="snappy", dictionary_pagesize_limit=DICTIONARY_BYTES, store_schema=False
        )

    def write(self, rows: pa.Table) -> None:
        """Adds rows."""
        self._writer.write_table(rows, ROWS)
        self._statistics.take(rows)

    def close(self) -> DataFile:
        """Ends the file."""
        self._writer.close()
        size = self._file.tell()
        self._file.close()
        return DataFile(self._name, size, self._statistics.rows, int(time.time() * 1000), self._statistics.dumps())

    def drop(self) -> None:
        """Removes the file; VACUUM does, where that fails."""
        with suppress(*_FAULTS):
            self._writer.close()
            self._file.close()
        with suppress(*_FAULTS):
            self._place.delete_file(self._name)


class _Store(DeltaStorageHandler):
    """An object store as delta-rs reaches it, whose own streams take no Arrow buffers."""

    def open_output_stream(self, path: str, metadata: dict[str, str] | None = None) -> pa.PythonFile:
        """Begins an object."""
        return pa.PythonFile(_Stream(self._handler.open_output_stream(path, metadata)), "w")


class _Stream:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, data: Any) -> int:
        written: int = self._stream.write(bytes(data))
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
