"""No table is partitioned by floating-point numbers, of which 0.0 and -0.0 are one to Arrow and two to partitions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from iceberg_sink.reading import by_duckdb
from iceberg_sink.test_evolution import made


@pytest.mark.parametrize("kind", ["float", "double"])
def test_each_row_is_there_once(tmp_path: Path, kind: str) -> None:
    rows = {"id": pa.array([1, 2, 3], pa.int32()), "x": [0.0, -0.0, 1.5]}
    target = made(tmp_path, {"id": "int", "x": kind}, rows, **{"partition.by": ["x"]})
    assert sorted(row["id"] for row in by_duckdb(target.table)) == [1, 2, 3]
    assert not target.table.spec().fields
