"""Rows whose key is null in one of its columns, as they may be by a key that the user has accepted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from cdckit.tables.delta.placing import Placing
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.lake.target import Merge
from cdckit.tables.layout import OP
from cdckit.tables.target import BatchId


@pytest.mark.parametrize("partitions", [(), ("p",)])
def test_they_are_found_by_all_columns(tmp_path: Path, partitions: tuple[str, ...]) -> None:
    target = DeltaTarget(str(tmp_path), {}, "t", Placing(partition_by=partitions))
    target.create({"id": "int", "p": "string", "v": "int"}, {})
    for number in range(2):
        put = pa.table([[1, 1, 2], [None, "a", None], [number] * 3], schema=target.schema())
        changes = put.append_column(OP, pa.array(["c", "c", "d"]))
        target.merge(Merge(changes, ("id", "p"), (), ()), BatchId("p/g", number))
        target.refresh()
    found = sorted((row["p"] or "", row["v"]) for batch in target.scan(["p", "v"]) for row in batch.to_pylist())
    assert found == [("", 1), ("a", 1)]
