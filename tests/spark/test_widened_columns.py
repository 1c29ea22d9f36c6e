"""Columns of Delta tables that get a wider type."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit_spark.config import LakeConfig
from cdckit_spark.targets import DeltaTarget

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("kind", "wider"),
    [
        ("date", "timestamp_ntz"),
        pytest.param("int", "bigint", marks=pytest.mark.nightly),
        pytest.param("decimal(10,2)", "decimal(12,4)", marks=pytest.mark.nightly),
    ],
)
def test_a_column_is_widened(session: SparkSession, tmp_path: Path, kind: str, wider: str) -> None:
    """A DATE that becomes a DATETIME needs a feature of Delta's that the table has not had."""
    target = DeltaTarget(session, LakeConfig.load({"path": str(tmp_path)}, "sink")[0], "t")
    target.create({"id": "int", "v": kind}, {})
    session.sql(f"INSERT INTO delta.`{target.path}` VALUES (1, CAST(NULL AS {kind}))")
    target.widen({"v": wider})
    assert target.columns() == {"id": "int", "v": wider}
    assert session.read.format("delta").load(str(target.path)).count() == 1
