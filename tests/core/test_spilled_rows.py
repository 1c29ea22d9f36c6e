"""Rows in files, and rows as a stream that are made one batch after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from arro3.core import RecordBatch, RecordBatchReader

from cdckit.tables.lake.arrow_types import arrow_schema
from cdckit.tables.lake.spilled_rows import SpilledRows, streamed

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


def test_a_stream_takes_a_batch_when_it_is_asked_for() -> None:
    made: list[int] = []

    def batches() -> Iterator[RecordBatch]:
        for first in (0, 10):
            made.append(first)
            yield rows(first)

    stream = streamed(arrow_schema(COLUMNS), batches())
    assert isinstance(stream, RecordBatchReader)
    assert (stream.schema, made) == (arrow_schema(COLUMNS), [])
    assert (stream.read_next_batch(), made) == (rows(0), [0])
    assert (list(stream), made) == ([rows(10)], [0, 10])


def test_what_goes_wrong_in_a_stream_is_told() -> None:
    def batches() -> Iterator[RecordBatch]:
        yield rows(0)
        raise ValueError("no more of these")

    stream = streamed(arrow_schema(COLUMNS), batches())
    stream.read_next_batch()
    with pytest.raises(Exception, match="no more of these"):
        stream.read_next_batch()
