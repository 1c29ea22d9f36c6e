"""A table that one sink has begun goes on with the other: the same names, columns, types and notes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from delta_sink.shop import Shop
from spark.conftest import FAST_JVM
from testkit.running import Pipeline

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

TABLES = """
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), price DECIMAL(10,2), at DATETIME(6), big BIGINT UNSIGNED);
CREATE TABLE free (v INT);
INSERT INTO t VALUES (1, 'a', 1.5, '2024-01-02 03:04:05.6', 18446744073709551615), (2, 'b', NULL, NULL, 0);
INSERT INTO free VALUES (1), (1), (2);
"""


def keep(pipeline: Pipeline) -> None:
    """Says that nothing is missing where the sink is another one."""
    command = [sys.executable, "-m", "cdckit", "offsets", "keep", str(pipeline.written())]
    subprocess.run(command, check=True, capture_output=True)


def test_a_mirror_moves_to_spark_and_back(shop: Shop) -> None:
    direct = shop.pipeline()
    sink = {**direct.sink, "type": "spark"}
    spark = {"runner": "spark", "spark": {"spark.master": "local[2]", **FAST_JVM}}
    on_spark = replace(direct, sink=sink, others={**direct.others, **spark})
    shop.run(TABLES)
    shop.deliver()
    shop.run("UPDATE t SET v = 'c'; DELETE FROM free LIMIT 1; INSERT INTO t (id) VALUES (3)")
    shop.run("ALTER TABLE t ADD COLUMN w INT DEFAULT 7")
    keep(on_spark)
    ended = on_spark.run("--once", seconds=400)
    assert ended.code == 0, ended.stderr
    shop.assert_equal(["t", "free"])
    shop.run("UPDATE t SET w = 8 WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO free VALUES (9)")
    keep(direct)
    shop.deliver()
    shop.assert_equal(["t", "free"])
