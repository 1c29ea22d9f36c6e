"""A mirror of the sink `delta` whose changes wait beside it, and that the sink `spark` goes on with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from delta_sink.removing import command, read_again
from delta_sink.test_deferred import LONG, ROWS
from spark.lakes import SparkShop
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture
def lake(session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> Iterator[SparkShop]:
    """A database whose mirror has changes that wait, dropped after the test."""
    shop = SparkShop(mysql_server, unique_name, tmp_path)
    shop.make(ROWS)
    shop.direct.deliver(LONG)
    shop.run("SET binlog_row_image = minimal; UPDATE t SET v = 10 WHERE id = 1; UPDATE t SET w = '' WHERE id = 2")
    shop.run("DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (4, 4, 'd'), (5, 5, 'e')")
    shop.direct.deliver(LONG)
    yield replace(shop, sink={"type": "spark"})
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def assert_none_waits(lake: SparkShop) -> None:
    beside = lake.table("t").with_name(lake.table("t").name + "~changes")
    assert not DeltaTable(beside).to_pyarrow_table().num_rows


@pytest.mark.parametrize("small", [50_000, pytest.param(0, marks=pytest.mark.nightly)], ids=["driver", "spark"])
def test_they_come_first(lake: SparkShop, small: int) -> None:
    lake = replace(lake, sink={**lake.sink, "small.batch.rows": small})
    command(lake, "offsets", "keep")
    lake.run("UPDATE t SET v = 40 WHERE id = 4; DELETE FROM t WHERE id = 5")
    lake.deliver()
    lake.assert_equal(["t"])
    assert_none_waits(lake)


@pytest.mark.nightly
def test_a_mirror_that_is_read_again_needs_none(lake: SparkShop) -> None:
    command(lake, "offsets", "keep")
    read_again(lake, "t")
    lake.run("UPDATE t SET v = 40 WHERE id = 4")
    lake.deliver()
    lake.assert_equal(["t"])
    assert_none_waits(lake)
