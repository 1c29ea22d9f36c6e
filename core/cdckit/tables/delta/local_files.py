"""Rows put into data files of Delta tables on this machine's disks, however many they are.

delta-rs plans and runs a query for rows that it writes itself: 20 MiB of its code and some 20 of buffers, which nothing
else of a changelog's snapshot needs. Of a file that is there it tells the statistics, where it makes a table of it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from arro3.core import RecordBatch, RecordBatchReader, Schema
from arro3.io import write_parquet
from deltalake import Schema as DeltaSchema, convert_to_deltalake

from cdckit.tables.delta.files import DICTIONARY_BYTES, ROWS
from cdckit.tables.delta.rounding import WideDecimals, without_bounds
from cdckit.tables.lake.data_files import DataFile

_SIZE, _BYTES = "delta.targetFileSize", 100 << 20
"""The property of a table that says how large its files become, and how large they do where it says nothing."""
_SKIPPING = "delta.dataSkipping"
"""The properties that say of which columns there are statistics begin so."""
_FIRST_VERSION = Path("_delta_log", f"{0:020}.json")


def put_files(place: Path, schema: Schema, rows: Iterator[RecordBatch], told: Mapping[str, str]) -> list[DataFile]:
    """Puts rows into new files of a table, of which no version knows yet.

    Args:
        place: the table's folder.
        schema: of the rows.
        rows: these.
        told: the table's properties.

    Raises:
        OSError: a file cannot be written; none of them is there then.
    """
    size = told.get(_SIZE, "")
    most = int(size) if size.isdigit() else _BYTES
    wide = WideDecimals.of(DeltaSchema.from_arrow(schema))
    files: list[DataFile] = []
    try:
        while (first := next(rows, None)) is not None:
            name = f"part-{len(files):05}-{uuid4()}-c000.snappy.parquet"  # as all that write such tables call them
            with TemporaryDirectory(prefix="cdckit-delta-") as folder:
                path = Path(folder, name)
                rounded = {*wide.nested}
                _write(path, schema, _looked_at(_portion(first, rows, path, most), wide, rounded))
                files.append(_described(path, told, rounded))
                shutil.move(path, place / name)
    except BaseException:
        for file in files:
            (place / file.name).unlink(missing_ok=True)
        raise
    return files


def _portion(first: RecordBatch, rows: Iterator[RecordBatch], path: Path, most: int) -> Iterator[RecordBatch]:
    """Rows until a file has its size."""
    yield first
    while path.stat().st_size < most and (batch := next(rows, None)) is not None:
        yield batch


def _looked_at(rows: Iterator[RecordBatch], wide: WideDecimals, rounded: set[str]) -> Iterator[RecordBatch]:
    """Rows; the columns come to be known of which the file's bounds would be rounded."""
    for batch in rows:
        rounded |= wide.rounded(batch)
        yield batch


def _write(path: Path, schema: Schema, rows: Iterator[RecordBatch]) -> None:
    raised: list[Exception] = []
    with _faults(path, raised):
        write_parquet(
            RecordBatchReader.from_batches(schema, _noted(rows, raised)),
            path,
            compression="snappy",
            dictionary_page_size_limit=DICTIONARY_BYTES,
            max_row_group_size=ROWS,
            skip_arrow_metadata=True,
        )


def _noted(rows: Iterator[RecordBatch], raised: list[Exception]) -> Iterator[RecordBatch]:
    """The rows; what goes wrong as they are made is told, as nothing but its text comes back from Arrow."""
    try:
        yield from rows
    except Exception as error:
        raised.append(error)
        raise


@contextmanager
def _faults(path: Path, raised: list[Exception]) -> Iterator[None]:
    """What arro3 raises as what it means; for a disk that is full it has a panic, which is no `Exception`."""
    try:
        yield
    except BaseException as error:
        if not (isinstance(error, Exception) or _is_panic(error)):
            raise
        if raised:
            raise raised[0] from None
        if isinstance(error, OSError):
            raise
        raise OSError(f"{path}: {error}") from None


def _is_panic(error: BaseException) -> bool:
    return type(error).__module__ == "pyo3_runtime"


def _described(path: Path, told: Mapping[str, str], rounded: Collection[str]) -> DataFile:
    """A file that is alone in its folder, as delta-rs adds it to a table."""
    skipping = {name: text for name, text in told.items() if name.startswith(_SKIPPING)}
    convert_to_deltalake(path.parent, configuration=skipping)
    lines = (path.parent / _FIRST_VERSION).read_text().splitlines()
    added = next(found["add"] for line in lines if "add" in (found := json.loads(line)))
    statistics = without_bounds(added["stats"], rounded) if rounded else added["stats"]
    rows = json.loads(statistics)["numRecords"]
    return DataFile(path.name, added["size"], rows, added["modificationTime"], statistics)
