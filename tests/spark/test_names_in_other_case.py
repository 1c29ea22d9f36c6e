"""Columns of the sink `spark` whose names differ in upper and lower case alone, of which a table knows one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from delta_sink.test_names_in_other_case import DROPPED_AND_ADDED, RENAMED
from spark.lakes import SparkShop
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture
def lake(session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> Iterator[SparkShop]:
    """A database without tables, dropped after the test."""
    shop = SparkShop(mysql_server, unique_name, tmp_path)
    shop.make("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT); INSERT INTO t VALUES (1, 10, 1)")
    yield shop
    mysql_server.execute(f"DROP DATABASE {unique_name}")


@pytest.mark.parametrize(
    "sink",
    [{}, pytest.param({"small.batch.rows": 0}, marks=pytest.mark.nightly), {"format": "parquet"}],
    ids=["driver", "spark", "parquet"],
)
def test_a_changelog_goes_on_with_the_column_that_it_has(
    session: SparkSession, lake: SparkShop, sink: dict[str, Any]
) -> None:
    lake = replace(lake, mode="changelog", sink={"type": "spark", **sink})
    lake.deliver()
    lake.run(DROPPED_AND_ADDED)
    lake.deliver()
    lake.run(RENAMED)
    lake.deliver()
    form = sink.get("format", "delta")
    found = session.read.format(form).option("mergeSchema", "true").load(str(lake.table("t")))
    assert sorted(tuple(row) for row in found.select("id", "a", "b").collect()) == [(1, 10, 1), (2, 20, 2), (3, 30, 3)]


@pytest.mark.nightly
@pytest.mark.parametrize("small", [50_000, pytest.param(0, marks=pytest.mark.nightly)], ids=["driver", "spark"])
def test_a_mirror_has_the_source_s_names(session: SparkSession, lake: SparkShop, small: int) -> None:
    lake = replace(lake, sink={"type": "spark", "small.batch.rows": small})
    lake.deliver()
    lake.run(DROPPED_AND_ADDED)
    lake.deliver()
    lake.run(RENAMED)
    lake.deliver()
    found = session.read.format("delta").load(str(lake.table("t")))
    assert {"A", "B"} <= {*found.columns}
    rows = sorted(tuple(row) for row in found.select("id", "A", "B").collect())
    assert rows == [(1, None, 1), (2, 20, 2), (3, 30, 3)]
