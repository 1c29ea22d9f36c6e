"""Columns that are dropped, and others that are added under their names, in one batch."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.target import BatchId


@pytest.mark.parametrize("kind", ["timestamp_ntz", "binary"])
def test_nothing_is_left_of_the_former_one(tmp_path: Path, kind: str) -> None:
    target = DeltaTarget(str(tmp_path), {}, "t")
    target.create({"id": "int", "at": "timestamp_ntz"}, {})
    rows = pa.table([[1, 2], [0, 1]], schema=target.schema())
    target.append(rows, BatchId("p/g", 1))
    target.refresh()
    target.alter([["drop", "at"], ["add", "at", kind]])
    target.refresh()
    assert target.columns() == {"id": "int", "at": kind}
    assert sorted(row["id"] for batch in target.scan(["id"]) for row in batch.to_pylist()) == [1, 2]
    assert {row["at"] for batch in target.scan(["at"]) for row in batch.to_pylist()} == {None}
