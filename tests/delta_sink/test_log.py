"""What is kept of a changelog's log: checkpoints of small tables, and no versions that nobody needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from arro3.core import Array, DataType, RecordBatch

from cdckit.tables.delta.placing import Placing
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.lake.arrow_types import arrow_schema
from cdckit.tables.target import BatchId

COLUMNS = {"id": "bigint"}


def appended(folder: Path, batches: int, **properties: str) -> DeltaTarget:
    """A table with a row in each of so many versions behind the first."""
    target = DeltaTarget(str(folder), {}, "t", Placing(properties=properties))
    target.create(COLUMNS, {})
    for number in range(1, batches + 1):
        append(target, number)
    return target


def append(target: DeltaTarget, number: int) -> None:
    target.append_batches(arrow_schema(COLUMNS), _rows(number), BatchId("p/g", number))


def _rows(number: int) -> Iterator[RecordBatch]:
    yield RecordBatch.from_arrays([Array([number], DataType.int64())], names=["id"])


def checkpoints(folder: Path) -> list[int]:
    """The versions that have one."""
    return sorted(int(path.name.partition(".")[0]) for path in folder.glob("t/_delta_log/*.checkpoint.parquet"))


def versions(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("t/_delta_log/*.json"))


def ids(folder: Path) -> list[int]:
    """As one finds them who has not seen the table before."""
    target = DeltaTarget(str(folder), {}, "t")
    return sorted(row for batch in target.scan(["id"]) for row in batch.column("id").to_pylist())


def test_a_small_table_has_a_checkpoint_every_twenty_versions(tmp_path: Path) -> None:
    target = appended(tmp_path, 45)
    assert checkpoints(tmp_path) == [19, 39]
    for number in range(30):
        (tmp_path / "t" / "_delta_log" / f"{number:020}.json").unlink()
    assert ids(tmp_path) == [*range(1, 46)]
    append(target, 46)
    assert (target.version_of("p/g"), target.version) == (46, 46)
    assert ids(tmp_path) == [*range(1, 47)]


def test_a_large_table_has_them_as_often_as_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdckit.tables.delta.checkpoints._FILES", 30)
    appended(tmp_path, 101)
    assert checkpoints(tmp_path) == [19, 99]


def test_checkpoints_as_often_as_the_table_says(tmp_path: Path) -> None:
    appended(tmp_path, 45, **{"delta.checkpointInterval": "30"})
    assert checkpoints(tmp_path) == [29]


def test_a_checkpoint_that_cannot_be_written_is_left_for_later(tmp_path: Path) -> None:
    target = appended(tmp_path, 18)
    taken = tmp_path / "t" / "_delta_log" / f"{19:020}.checkpoint.parquet"
    (taken / "taken").mkdir(parents=True)
    append(target, 19)
    append(target, 20)
    shutil.rmtree(taken)
    assert ids(tmp_path) == [*range(1, 21)]
    for number in range(21, 40):
        append(target, number)
    assert checkpoints(tmp_path) == [39]


def test_old_versions_are_removed_with_each_hundredth(tmp_path: Path) -> None:
    target = appended(tmp_path, 98, **{"delta.logRetentionDuration": "interval 0 seconds"})
    assert versions(tmp_path) == [*range(99)]
    append(target, 99)
    assert versions(tmp_path) == [99]
    append(target, 100)
    assert ids(tmp_path) == [*range(1, 101)]


def test_a_table_may_keep_its_old_versions(tmp_path: Path) -> None:
    forever = {"delta.logRetentionDuration": "interval 0 seconds", "delta.enableExpiredLogCleanup": "false"}
    appended(tmp_path, 101, **forever)
    assert versions(tmp_path) == [*range(102)]
