"""Rows are looked for, and merged, in the files alone that may have their keys, and in all of these."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from cdckit.tables.delta.sql import one_of
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.lake.target import Merge
from cdckit.tables.layout import OP
from cdckit.tables.target import BatchId
from testkit.files_away import files_away

KEYS: dict[str, tuple[Any, Any, Any]] = {
    "int": (-7, 0, 12),
    "bigint": (-(1 << 63), 1 << 53, (1 << 63) - 1),
    "string": ("", "o'ne" + "x" * 40, "ü" * 40),
    "date": (date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)),
    "timestamp": (
        datetime(1960, 1, 1, 0, 0, 0, 123456, UTC),
        datetime(1999, 10, 31, 0, 30, 0, 999999, UTC),
        datetime(2262, 1, 1, 0, 0, 0, 1, UTC),
    ),
    "timestamp_ntz": (
        datetime(1000, 1, 1),
        datetime(1999, 10, 31, 0, 30, 0, 500001),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
    ),
    "decimal(9,2)": (Decimal("-1.25"), Decimal("0.00"), Decimal("3.50")),
    "decimal(20,0)": (Decimal(1), Decimal(1 << 40), Decimal(10**15 - 1)),
}
"""Of each type a least, a middle and a greatest key."""
ROUNDED: dict[str, Any] = {
    "decimal(20,0)": Decimal("9007199254740993"),
    "decimal(38,10)": Decimal("-1234567890123456789.0123456789"),
    "timestamp": datetime(9999, 1, 1, 23, 59, 59, 914727, UTC),
    "timestamp_ntz": datetime(4487, 12, 6, 7, 43, 17, 397727),
}
"""Values that delta-rs would not tell exactly: the log has no bounds of files with them, or bounds that are cut."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "t"


def made(place: Path, kind: str, keys: tuple[Any, ...]) -> DeltaTarget:
    """A table with a file for each of some keys, in which the value is the key's number; and one with none."""
    target = DeltaTarget(str(place.parent), {}, "t")
    target.create({"k": kind, "v": "int"}, {})
    for number, key in enumerate([*keys, None]):
        target.append(pa.table([[key], [number]], schema=target.schema()), BatchId("p/g", number))
    return target


def only(place: Path, *values: int) -> AbstractContextManager[None]:
    """While the files that have other values are gone."""
    moved = [Path(name.removeprefix("file://")) for name in DeltaTable(str(place)).file_uris()]
    moved = [file for file in moved if not {*pq.read_table(file).column("v").to_pylist()} & {*values}]
    return files_away(moved)


def found(target: DeltaTarget, *keys: Any) -> list[int]:
    """The values of some keys."""
    batches = list(target.candidates(["v", "k"], "k", set(keys)))
    rows = [row for batch in batches for row in batch.to_pylist() if row["k"] in keys]
    return sorted(row["v"] for row in rows)


@pytest.mark.parametrize("kind", list(KEYS))
def test_files_without_the_keys_are_not_read(place: Path, kind: str) -> None:
    keys = KEYS[kind]
    target = made(place, kind, keys)
    with only(place, 0, 1):
        assert found(target, *keys[:2]) == [0, 1]
    with only(place, 1):
        assert found(target, keys[1]) == [1]
    with only(place, 1, 3):
        assert found(target, keys[1], None) == [1, 3]
    with only(place, 3):
        assert found(target, None) == [3]
    assert found(target, *keys) == [0, 1, 2]
    assert found(target) == []


def test_files_out_of_the_range_of_many_keys_are_not_read(place: Path) -> None:
    target = made(place, "int", (0, 500, 5000))
    with only(place, 0, 1):
        assert found(target, *range(-100, 2000)) == [0, 1]


@pytest.mark.parametrize("kind", [*KEYS, *ROUNDED])
def test_rows_are_merged_with_those_of_their_keys(place: Path, kind: str) -> None:
    """Also where what the log says of them is rounded: each key is there once."""
    keys = (*KEYS.get(kind, ()), *([ROUNDED[kind]] if kind in ROUNDED else []))
    target = made(place, kind, keys)
    for number, key in enumerate(keys):
        assert found(target, key) == [number]
        put = pa.table([[key], [number + 100]], schema=target.schema())
        target.merge(Merge(put.append_column(OP, pa.array(["u"])), ("k",), (), ()), BatchId("p/h", number))
        target.refresh()
        present = pa.Table.from_batches(list(target.scan(["k", "v"])))
        assert (
            pc.equal(present.column("k"), pa.scalar(key, present.schema.field("k").type)).to_pylist().count(True) == 1
        )
        assert number + 100 in present.column("v").to_pylist()


@pytest.mark.parametrize("values", [{b"x"}, {1.5}, {1, "x"}, {Decimal("9007199254740993"), Decimal(1)}])
def test_all_files_are_read_where_bounds_tell_nothing(values: set[Any]) -> None:
    assert one_of("k", values) in {"true", "(true)"}
