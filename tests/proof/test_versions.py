"""Versions of Delta tables by their batches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from cdckit.tables.delta.version import at_batch
from cdckit_spark.commits import MOST, NOT_THERE, Txn, version_before

COMMITS = (("p/g", 0), ("p/other", 9), ("p/g", 1), ("", 0), ("p/g/1", 2), ("p/g/2", 2), ("p/g", 2), ("p/g/1", 3))
"""By version the application and the number of a commit: version 0 has none, others write, batch 2 has three parts."""


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A table with a row for each commit."""
    place, schema = str(tmp_path / "t"), pa.schema({"n": pa.int64()})
    DeltaTable.create(place, schema)
    for number, (application, batch) in enumerate(COMMITS, 1):
        told = [Transaction(application, batch)] if application else []
        rows = pa.table({"n": [number]}, schema)
        write_deltalake(place, rows, mode="append", commit_properties=CommitProperties(app_transactions=told))
    return place


@pytest.mark.parametrize(("batch", "version"), [(0, 2), (1, 4), (2, 7), (3, 8)])
def test_no_part_of_a_later_batch_is_there(place: str, batch: int, version: int) -> None:
    table = at_batch(DeltaTable(place), "p/g", batch)
    assert table is not None
    assert table.version() == version
    assert sorted(table.to_pyarrow_table().column("n").to_pylist()) == list(range(1, version + 1))


@pytest.mark.parametrize(("batch", "version"), [(0, 2), (1, 4), (2, 7), (3, 8), (9, 8)])
def test_the_log_alone_tells_the_same(batch: int, version: int) -> None:
    noted = [[], *([Txn(*told)] if told[0] else [] for told in COMMITS)]
    assert version_before(noted.__getitem__, len(COMMITS), "p/g", batch) == version


def test_a_log_that_does_not_tell() -> None:
    first = {0: [Txn("p/g", 5)]}
    assert version_before(first.get, 0, "p/g", 4) == NOT_THERE
    assert version_before({3: []}.get, 3, "p/g", 4) is None, "commit 2 is not there"
    assert version_before(lambda _: [], MOST, "p/g", 4) is None, "more commits of others than are looked at"
    assert version_before(lambda _: [], 7, "p/g", 4) == 7


def test_a_table_that_came_later_was_not_there(tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    write_deltalake(
        place, pa.table({"n": [1]}), commit_properties=CommitProperties(app_transactions=[Transaction("p/g", 5)])
    )
    assert at_batch(DeltaTable(place), "p/g", 4) is None
    assert at_batch(DeltaTable(place), "p/h", 4) is not None
