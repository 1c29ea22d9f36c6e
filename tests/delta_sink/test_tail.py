"""Tables of the sink `spark` whose tail a direct process has: the sink `delta` goes on with them, and Spark again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from delta_sink.shop import Shop
from spark.hands import OPTIONS, SECONDS, SNAPSHOT, await_spark, await_tail, held
from spark.shop import random_seed
from testkit.journal import Journal
from testkit.running import Pipeline
from testkit.writers import TABLES as WRITTEN, ShopWriter

TABLES = """
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), price DECIMAL(10,2), at DATETIME(6), big BIGINT UNSIGNED);
CREATE TABLE free (v INT);
INSERT INTO t VALUES (1, 'a', 1.5, '2024-01-02 03:04:05.6', 18446744073709551615), (2, 'b', NULL, NULL, 0);
INSERT INTO free VALUES (1), (1), (2);
"""
CHANGES = """
UPDATE t SET v = CONCAT(v, '!'), big = 7 WHERE id = 1; DELETE FROM free LIMIT 1; INSERT INTO t (id) VALUES (3);
ALTER TABLE t ADD COLUMN w INT; UPDATE t SET w = 8 WHERE id = 2; INSERT INTO free VALUES (9), (9);
"""
LARGE = """
CREATE TABLE large (v INT);
SET SESSION cte_max_recursion_depth = 300000;
INSERT INTO large WITH RECURSIVE n (v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 250000) SELECT v FROM n;
ANALYZE TABLE large;
"""
"""A table in one piece, which is more than the direct process takes: Spark reads it, however fast it starts."""


def with_tail(shop: Shop, **options: Any) -> Pipeline:
    """The pipeline to tables of the sink `spark`."""
    direct = shop.pipeline({"type": "spark"})
    return replace(direct, others={**direct.others, **OPTIONS, **options})


def equal(shop: Shop, *names: str) -> Callable[[], bool]:
    """Whether the tables are there, and none differs from the source."""
    return lambda: all(shop.table(name).exists() for name in names) and not shop.unequal()


@pytest.mark.parametrize("mode", ["mirror", "changelog"])
def test_what_is_small_needs_no_jvm(shop: Shop, mode: str) -> None:
    shop = replace(shop, mode=mode)
    shop.run(TABLES)
    pipeline = with_tail(shop, **{"tail.max.lag.ms": 600_000})
    with pipeline.running() as process:
        process.wait_until(equal(shop, "t", "free"), "the snapshot")
        shop.run(CHANGES)
        process.wait_until(equal(shop), "the changes")
        ended = process.stop()
    assert ended.code == 0, ended.stderr
    assert "Spark" not in ended.stderr


@pytest.mark.spark
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("mode", "large"),
    [
        ("mirror", ""),
        pytest.param("mirror", LARGE, marks=pytest.mark.nightly),
        pytest.param("changelog", "", marks=pytest.mark.nightly),
    ],
)
def test_tables_equal_the_source_after_kills_at_the_switches(shop: Shop, mode: str, large: str, nightly: bool) -> None:
    """Also where the snapshot is Spark's; a changelog has each change once."""
    seed = random_seed()
    chance = random.Random(seed)
    shop = replace(shop, mode=mode)
    shop.run(WRITTEN + large)
    pipeline = with_tail(shop)
    switches = ["to Spark", "back"] * (8 if nightly else 1)
    chance.shuffle(switches)
    with ShopWriter(shop.server, shop.name, Journal(), seed, accounts=2000, pause=0.05) as writer:
        for number, switch in enumerate(switches):
            with pipeline.running() as process:
                await_spark(process)
                assert number or not large or SNAPSHOT in process.log
                if switch == "back":
                    with held(writer):
                        await_tail(process)
                time.sleep(chance.uniform(0, 1.5))
                process.kill()
    ended = pipeline.run("--once", seconds=SECONDS)
    assert ended.code == 0, ended.stderr
    assert equal(shop, "accounts", "parts")()
