"""Rows in files, those of one key in the same one, so that each can be looked at by itself."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Self

import pyarrow as pa

from cdckit.tables.lake.spilled_rows import SpilledRows

MOST_ROWS = 100_000
"""About so many rows are held together."""
_MOST_FILES = 200


class Buckets:
    """Rows of one schema; the files go with the block.

    Args:
        number: of files, at the most.
    """

    def __init__(self, number: int) -> None:
        self._number = min(number, _MOST_FILES)
        self._folder = tempfile.TemporaryDirectory(prefix="cdckit-lake-")
        self._files: dict[int, SpilledRows] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._folder.cleanup()

    def add(self, rows: pa.RecordBatch, places: Iterable[Hashable] | None) -> None:
        """Takes rows.

        Args:
            rows: these.
            places: what tells each from others; None where all go into the first file.
        """
        numbers: dict[int, list[int]] = defaultdict(list)
        for row, place in enumerate(places or ()):
            numbers[hash(place) % self._number].append(row)
        if places is None:
            self._file(0, rows.schema).write(rows)
        for number, found in numbers.items():
            self._file(number, rows.schema).write(rows.take(pa.array(found, pa.int64())))

    def _file(self, number: int, schema: pa.Schema) -> SpilledRows:
        file = self._files.get(number)
        if file is None:
            file = self._files[number] = SpilledRows(Path(self._folder.name, f"{number}.arrow"), schema)
        return file

    def batches(self, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of a file."""
        yield from map(pa.record_batch, self._files.get(number, ()))

    def table(self, number: int, schema: pa.Schema) -> pa.Table:
        """All of them."""
        return pa.Table.from_batches(list(self.batches(number)), schema)
