"""What a commit does to rows and files, and what it carries."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException

from cdckit.errors import SinkError
from cdckit.tables.lake.finder import Finder
from cdckit.tables.lake.folding import KEPT
from cdckit.tables.lake.target import Merge
from cdckit.tables.layout import OP
from cdckit.tables.target import BatchId
from cdckit_iceberg import files
from cdckit_iceberg.config import IcebergConfig
from cdckit_iceberg.faults import passes
from cdckit_iceberg.sink import IcebergSink
from cdckit_iceberg.target import IcebergTarget
from iceberg_sink.reading import by_duckdb
from iceberg_sink.test_evolution import files_of, found, made, target_in

COLUMNS = {"id": "int", "v": "string"}


def merged(target: IcebergTarget, number: int, *changes: tuple[str, int, str | None]) -> None:
    """Merges changes by `id`: what they do, the key, and `v`, which stays where it is not given."""
    operations, keys, values = zip(*changes, strict=True)
    rows = pa.table({
        "id": pa.array(keys, pa.int32()),
        "v": pa.array(values, pa.string()),
        OP: pa.array(operations, pa.string()),
        KEPT + "v": pa.array([value is None for value in values]),
    })  # fmt: skip
    target.merge(Merge(rows, ("id",), ("v",), ()), BatchId("p/g", number, '{"at": 1}'))


def test_a_merge_copies_the_files_that_it_changes_alone(tmp_path: Path) -> None:
    target = made(tmp_path, COLUMNS, {"id": pa.array([1, 2], pa.int32()), "v": ["a", "b"]})
    target.append(pa.table({"id": pa.array([10, 12], pa.int32()), "v": ["j", "l"]}), BatchId("p/g", 2))
    before = files_of(target)
    merged(target, 3, ("d", 2, "B"), ("c", 3, "c"), ("u", 12, None), ("d", 11, "k"))
    assert found(target) == [{"id": 1, "v": "a"}, {"id": 10, "v": "j"}, {"id": 12, "v": "l"}, {"id": 3, "v": "c"}]
    assert not before & files_of(target)
    before = files_of(target)
    merged(target, 4, ("c", 50, "z"))
    assert before < files_of(target)


def test_a_commit_carries_its_batch_and_offset(tmp_path: Path) -> None:
    target = made(tmp_path, COLUMNS, {"id": pa.array([1], pa.int32()), "v": ["a"]})
    merged(target, 5, ("u", 1, "b"))
    snapshot = target_in(tmp_path).table.current_snapshot()
    assert snapshot is not None and snapshot.summary is not None
    told = snapshot.summary.additional_properties
    assert (told["cdckit.application"], told["cdckit.batch"]) == ("p/g", "5")
    assert json.loads(told["cdckit.offset"]) == {"at": 1}
    again = target_in(tmp_path)
    assert (again.version_of("p/g"), again.version_of("p/other")) == (5, None)
    assert len(again.table.snapshots()) == 2


def test_of_two_that_commit_one_is_told(tmp_path: Path) -> None:
    """What is written rests on the version that was looked at: it is not put behind another one."""
    one = made(tmp_path, COLUMNS, {"id": pa.array([1], pa.int32()), "v": ["a"]})
    other = target_in(tmp_path)
    assert other.version_of("p/g") == 1
    rows = pa.table({"id": pa.array([2], pa.int32()), "v": ["b"]})
    one.append(rows, BatchId("p/g", 2))
    with pytest.raises(CommitFailedException) as told:
        other.append(rows, BatchId("p/g", 2))
    assert passes(told.value)
    assert other.version_of("p/g") == 2
    assert len(found(other)) == 2


def test_earlier_versions_are_found_by_their_batches(tmp_path: Path) -> None:
    target = made(tmp_path, COLUMNS, {"id": pa.array([1], pa.int32()), "v": ["a"]})
    for number in (2, 3):
        target.append(pa.table({"id": pa.array([number], pa.int32()), "v": ["b"]}), BatchId("p/g", number))
    target.alter([["add", "w", "int"]])

    def rows(batch: int) -> list[dict[str, Any]] | None:
        version = target.at_batch("p/g", batch)
        return (
            None
            if version is None
            else [row for part in version.scan(version.schema().names) for row in part.to_pylist()]
        )

    assert rows(0) is None
    assert rows(2) == [{"id": 2, "v": "b"}, {"id": 1, "v": "a"}]
    assert [len(row) for row in rows(3) or []] == [2, 2, 2]


@pytest.mark.parametrize("large", [True, False])
def test_rows_are_written_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    monkeypatch.setattr(files, "PORTION_BYTES", 1 if large else 1 << 20)
    target = target_in(tmp_path, **{"partition.by": ["bucket(2, id)"]})
    target.create(COLUMNS, {})
    batches = [pa.record_batch({"id": pa.array([n, n + 1], pa.int32()), "v": ["a", "b"]}) for n in range(0, 8, 2)]
    target.append(pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches)), BatchId("p/g", 1))
    assert [row["id"] for row in found(target)] == list(range(8))
    assert (len(files_of(target)) > 2) is large
    merged(target, 2, ("u", 3, "c"))
    assert sorted(map(repr, by_duckdb(target.table))) == sorted(map(repr, found(target)))


def test_partitions(tmp_path: Path) -> None:
    """Of a table's own columns, where they have a fitting type."""
    terms = ["days(at)", "truncate(2, v)", "years(id)", "bucket(4, missing)", "id"]
    target = target_in(tmp_path, **{"partition.by": terms, "table.write.parquet.compression-codec": "snappy"})
    target.create({"id": "int", "v": "string", "at": "timestamp_ntz"}, {})
    assert [field.name for field in target.table.spec().fields] == ["at_day", "v_truncate", "id"]
    assert target.table.properties["write.parquet.compression-codec"] == "snappy"


def test_keys_of_several_columns() -> None:
    """Of columns of any type that keys have, with null as a value like others."""
    keys = pa.table({
        "a": pa.array([1, 1, 2, None], pa.int64()),
        "b": pa.array(["x", "y", "x", None]),
        "c": pa.array([Decimal("1.0"), Decimal("2.0"), Decimal("1.0"), Decimal("3.0")], pa.decimal128(5, 1)),
    })  # fmt: skip
    finder = Finder(keys, ["a", "b", "c"])
    rows = pa.concat_tables([keys.slice(2), keys.slice(0, 2), keys.slice(0, 1).set_column(1, "b", pa.array(["y"]))])
    assert finder.rows(rows).to_pylist() == [2, 3, 0, 1, None]


def test_a_format_that_is_not_written_is_told(tmp_path: Path) -> None:
    faults = IcebergSink(IcebergConfig.load({"catalog.type": "sql"}, "sink")[0]).faults
    with pytest.raises(SinkError, match="V3 is not yet supported"), faults.told("t"):
        made(tmp_path, COLUMNS, {"id": pa.array([1], pa.int32()), "v": ["a"]}, **{"table.format-version": "3"})


def test_numbers_in_what_is_wrong_with_a_value_are_no_answers_of_stores() -> None:
    assert not passes(pa.ArrowInvalid("Integer value 500 not in range: -128 to 127"))
    assert passes(OSError("AWS Error UNKNOWN (HTTP status 503) during PutObject operation"))
    assert not passes(OSError("No such file: /lake/500/orders"))
