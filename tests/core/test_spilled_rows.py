"""Rows in files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from arro3.core import RecordBatch

from cdckit.tables.lake.arrow_types import arrow_schema
from cdckit.tables.lake.spilled_rows import SpilledRows

COLUMNS = {
    "id": "int",
    "price": "decimal(10,2)",
    "tags": "array<string>",
    "at": "timestamp",
    "w": "struct<x:double>",
}


def rows(first: int, count: int = 3) -> RecordBatch:
    made = {
        "id": [first + number for number in range(count)],
        "price": [None, *range(1, count)],
        "tags": [["a", None], None, []][:count],
        "at": [None] * count,
        "w": [{"x": 0.5}, None, {"x": None}][:count],
    }
    return RecordBatch.from_arrow(pa.record_batch(made, pa.schema(arrow_schema(COLUMNS))))


def test_files_hold_what_was_written(tmp_path: Path) -> None:
    spilled = SpilledRows(tmp_path / "rows", arrow_schema(COLUMNS))
    for first in (0, 10, 20):
        spilled.write(rows(first))
    spilled.write(pa.record_batch(rows(30, 1)))
    assert spilled.rows == 10
    wanted = [rows(0), rows(10), rows(20), rows(30, 1)]
    assert list(spilled) == wanted
    assert list(spilled) == wanted, "once more"


def test_a_file_without_rows_is_read(tmp_path: Path) -> None:
    assert list(SpilledRows(tmp_path / "rows", arrow_schema(COLUMNS))) == []


def test_files_are_open_only_while_they_are_written(tmp_path: Path) -> None:
    """A snapshot may have rows of more tables than a process may have files open."""
    before = _open_files()
    spilled = [SpilledRows(tmp_path / str(number), arrow_schema(COLUMNS)) for number in range(10)]
    for file in spilled:
        file.write(rows(0))
    assert _open_files() == before


def _open_files() -> set[str]:
    return {str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.exists()}
