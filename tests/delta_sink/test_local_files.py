"""Rows of which there are too many for the memory: put into data files here, which delta-rs describes."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from arro3.core import RecordBatch, Table

from cdckit.errors import SinkError
from cdckit.tables.delta.placing import Placing
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.lake.arrow_types import arrow_schema
from cdckit.tables.target import BatchId

COLUMNS = {
    "id": "int",
    "name": "string",
    "price": "decimal(38,2)",
    "at": "timestamp",
    "local": "timestamp_ntz",
    "day": "date",
    "f": "double",
    "data": "binary",
    "tags": "array<string>",
    "w": "struct<x:double>",
}
MOMENT = datetime(2024, 1, 2, 3, 4, 5, 678901)
ROWS = 100
LETTERS = 10


def batches(count: int = 20) -> Iterator[RecordBatch]:
    """Each of `ROWS` rows, whose ids go up."""
    schema = pa.schema(arrow_schema(COLUMNS))
    for first in range(0, count * ROWS, ROWS):
        made = [_row(number) for number in range(first, first + ROWS)]
        yield RecordBatch.from_arrow(pa.RecordBatch.from_pylist(made, schema))


def _row(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": None if number % 7 == 0 else f"name of {number} " + "ß" * LETTERS,
        "price": Decimal(number).scaleb(-2),
        "at": MOMENT.replace(tzinfo=UTC),
        "local": MOMENT.replace(year=1000 + number),
        "day": date(2024, 2, 29),
        "f": None if number % 2 else -number / 3,
        "data": bytes([number % 256]),
        "tags": ["a", None] if number % 3 else None,
        "w": {"x": 0.5} if number % 5 else None,
    }


def made(folder: Path, properties: Mapping[str, str], *partitions: str) -> DeltaTarget:
    target = DeltaTarget(str(folder), {}, "t", Placing(partitions, properties=properties))
    target.create(COLUMNS, {})
    return target


def described(target: DeltaTarget) -> dict[str, list[Any]]:
    """What the log says of a table's files, but for their names and sizes and when they were made."""
    found = pa.table(target.table.get_add_actions(flatten=True)).to_pydict()
    return {name: found[name] for name in sorted(found.keys() - {"path", "size_bytes", "modification_time"})}


def rows_of(target: DeltaTarget) -> list[dict[str, Any]]:
    found = [row for batch in target.scan(COLUMNS) for row in pa.record_batch(batch).to_pylist()]
    return sorted(found, key=lambda row: int(row["id"]))


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("**/*.parquet") if "_delta_log" not in path.parts}


@pytest.mark.parametrize(
    "properties", [{}, {"delta.dataSkippingNumIndexedCols": "2"}, {"delta.dataSkippingStatsColumns": "day,price"}]
)
def test_files_are_told_of_as_those_that_delta_rs_writes(tmp_path: Path, properties: dict[str, str]) -> None:
    here, there = made(tmp_path / "here", properties), made(tmp_path / "there", properties)
    schema = arrow_schema(COLUMNS)
    here.append_batches(schema, batches(), BatchId("p/g", 1))
    there.append(Table.from_batches(list(batches()), schema=schema), BatchId("p/g", 1))
    assert described(here) == described(there)
    assert (here.version_of("p/g"), here.version) == (1, 1)
    assert rows_of(here) == rows_of(there)
    assert len(rows_of(here)) == 20 * ROWS


def test_bounds_of_long_texts_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are cut, as Spark cuts them."""
    monkeypatch.setattr(f"{__name__}.LETTERS", 1000)
    target = made(tmp_path, {})
    target.append_batches(arrow_schema(COLUMNS), batches(), BatchId("p/g", 1))
    names = [row["name"] for row in rows_of(target) if row["name"] is not None]
    told = described(target)
    [least], [greatest] = told["min.name"], told["max.name"]
    assert least <= min(names)
    assert greatest >= max(names)
    assert max(len(least), len(greatest)) < 100
    assert told["null_count.name"] == [20 * ROWS - len(names)]


def test_files_have_the_size_that_the_table_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdckit.tables.delta.local_files.ROWS", ROWS)
    target = made(tmp_path, {"delta.targetFileSize": "20000"})
    target.append_batches(arrow_schema(COLUMNS), batches(), BatchId("p/g", 1))
    told = described(target)
    assert 2 < len(told["num_records"]) < 10
    assert len(files_in(tmp_path)) == len(told["num_records"])
    assert [row["id"] for row in rows_of(target)] == list(range(20 * ROWS))
    assert target.version == 1


def test_what_goes_wrong_as_rows_are_made_is_raised_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing() -> Iterator[RecordBatch]:
        yield from batches()
        raise SinkError("no more of these")

    monkeypatch.setattr("cdckit.tables.delta.local_files.ROWS", ROWS)
    target = made(tmp_path, {"delta.targetFileSize": "20000"})
    with pytest.raises(SinkError, match=r"^no more of these$"):
        target.append_batches(arrow_schema(COLUMNS), failing(), BatchId("p/g", 1))
    assert (files_in(tmp_path), target.version) == (set(), 0)


def test_a_disk_that_takes_no_more(tmp_path: Path) -> None:
    """What arro3 has for it is no `Exception`."""
    target = made(tmp_path, {})
    with _files_of_at_most(4096), pytest.raises(OSError, match=r"part-00000-.*parquet: .*File too large"):
        target.append_batches(arrow_schema(COLUMNS), batches(), BatchId("p/g", 1))
    assert (files_in(tmp_path), target.version) == (set(), 0)


@contextmanager
def _files_of_at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_folders_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "a bß#?"
    odd.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(odd))
    target = made(tmp_path / "lake", {})
    target.append_batches(arrow_schema(COLUMNS), batches(2), BatchId("p/g", 1))
    assert len(rows_of(target)) == 2 * ROWS
    assert list(odd.iterdir()) == []


def test_rows_of_a_partitioned_table_are_left_to_delta_rs(tmp_path: Path) -> None:
    target = made(tmp_path, {}, "day")
    target.append_batches(arrow_schema(COLUMNS), batches(2), BatchId("p/g", 1))
    assert described(target)["partition.day"] == [date(2024, 2, 29)]
    assert len(rows_of(target)) == 2 * ROWS
