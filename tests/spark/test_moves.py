"""A table that one sink has begun goes on with the other: the same names, columns, types and notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.cli.main import call
from spark.lakes import SparkShop
from testkit.running import Pipeline
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

TABLES = """
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), price DECIMAL(10,2), at DATETIME(6), big BIGINT UNSIGNED);
CREATE TABLE free (v INT);
INSERT INTO t VALUES (1, 'a', 1.5, '2024-01-02 03:04:05.6', 18446744073709551615), (2, 'b', NULL, NULL, 0);
INSERT INTO free VALUES (1), (1), (2);
"""


def keep(pipeline: Pipeline) -> None:
    """Says that nothing is missing where the sink is another one."""
    assert call(["offsets", "keep", str(pipeline.written())]) == 0


@pytest.fixture
def shop(session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> Iterator[SparkShop]:
    """A database whose mirrors the sink `spark` keeps, dropped after the test."""
    shop = SparkShop(mysql_server, unique_name, tmp_path, sink={"type": "spark"})
    shop.make(TABLES)
    yield shop
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def test_a_mirror_moves_to_spark_and_back(shop: SparkShop) -> None:
    direct = replace(shop.direct, sink={})
    direct.deliver()
    shop.run("UPDATE t SET v = 'c'; DELETE FROM free LIMIT 1; INSERT INTO t (id) VALUES (3)")
    shop.run("ALTER TABLE t ADD COLUMN w INT DEFAULT 7")
    keep(shop.pipeline())
    shop.deliver()
    shop.assert_equal(["t", "free"])
    shop.run("UPDATE t SET w = 8 WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO free VALUES (9)")
    keep(direct.pipeline())
    direct.deliver()
    direct.assert_equal(["t", "free"])
