"""Merges by Spark find the row whose key is the other zero, and keep the sign of the newer one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.test_key_range import DRIVER, SPARK, Mirror

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("small", [SPARK, DRIVER])
def test_zeros_of_both_signs_are_one_key(session: SparkSession, tmp_path: Path, small: str) -> None:
    table = Mirror(session, tmp_path / "t", "double")
    table.write(("c", "0.0", "first"), ("c", "1.0", "other"), small=small)
    table.write(("u", "0.0", "second"), ("d", "-0.0", "second"), ("c", "-0.0", "third"), small=small)
    assert table.rows() == {"-0.0": "third", "1.0": "other"}
    table.write(("d", "0.0", "third"), small=small)
    assert table.rows() == {"1.0": "other"}
