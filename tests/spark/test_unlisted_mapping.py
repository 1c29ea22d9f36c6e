"""Tables of which delta-rs has not said that files have other names for the columns: Spark opens them all the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from pyspark.sql import SparkSession

from cdckit_spark.config import LakeConfig
from cdckit_spark.shared_target import SharedTarget

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def test_it_is_said_before_spark_has_to_open_the_table(session: SparkSession, tmp_path: Path) -> None:
    """As where a process was killed behind the commit that makes the table."""
    schema = Schema.from_arrow(pa.schema([("id", pa.int32()), ("made at", pa.timestamp("us"))]))
    DeltaTable.create(tmp_path / "t", schema, configuration={"delta.columnMapping.mode": "name"})
    config, _ = LakeConfig.load({"path": str(tmp_path), "mode": "changelog"}, "sink")
    target = SharedTarget(session, config, "t", str(tmp_path), opened=0.0)
    assert list(target.columns()) == ["id", "made at"]
    target.add_columns({"more": "string"})
    assert session.read.format("delta").load(str(tmp_path / "t")).columns == ["id", "made at", "more"]
