"""The sink `delta` on Spark: workers write a changelog's files, and Spark's own reader judges what the log says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession, functions as sql

from cdckit.tables.delta.version import DeltaVersion
from delta_sink.test_objects import bucket, storage
from delta_sink.test_tables import logged
from spark.lakes import SparkShop
from spark.shop import random_seed
from spark.test_kill_exactly_once import _kill_workers
from spark.test_lakes_by_driver import kill_at_work
from testkit.journal import Journal
from testkit.servers.mysql import MySQLServer
from testkit.servers.object_store import ObjectStore
from testkit.writers import TABLES as WRITTEN, BulkWriter, ShopWriter

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

ALL_TYPES = """
CREATE TABLE t (
  id INT PRIMARY KEY, tiny TINYINT, small SMALLINT, whole BIGINT, large BIGINT UNSIGNED, exact DECIMAL(38,10), f FLOAT,
  d DOUBLE, truth TINYINT(1), text VARCHAR(100), long_text TEXT, kind ENUM('x','y'), doc JSON, data VARBINARY(20),
  bits BIT(9), day DATE, reading DATETIME(6), instant TIMESTAMP(6) NULL, clock TIME(6), y YEAR, place POINT)
"""
ROWS = [
    """(1, -128, -1, -9223372036854775808, 0, -0.0000000001, -1.5,
        -1e300, 0, '', 'short', 'x', '{"a": 1}', x'00ff',
        b'1', '1000-01-01', '1000-01-01', '1971-01-01 00:00:00.000001', '-838:59:59', 1901,
        ST_PointFromText('POINT(1 2)'))""",
    """(2, 0, 0, 0, 18446744073709551615, 1234567890123456789012345678.0123456789, 0,
        0.1, 1, REPEAT('é', 50), REPEAT('y', 3000), 'y', '[]', '',
        b'101', '2024-02-29', '2024-01-02 03:04:05.678901', '2024-01-02 03:04:05.678999', '01:02:03.000004', 2024,
        NULL)""",
    """(3, 127, 32767, 9223372036854775807, 7, 9999999999999999999999999999.9999999999, 2.25,
        1e300, 1, REPEAT('é', 49), REPEAT('z', 33), NULL, NULL, NULL,
        NULL, '9999-12-31', '9999-12-31 23:59:59.999999', NULL, NULL, NULL,
        NULL)""",
    "(4" + ", NULL" * 20 + ")",
]
"""Each is the only one of its file."""


@pytest.fixture
def log(session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> Iterator[SparkShop]:
    """A database without tables, whose changes workers write into files, dropped after the test."""
    sink = {"task.file.bytes": 1}
    shop = SparkShop(mysql_server, unique_name, tmp_path, mode="changelog", sink=sink)
    shop.make()
    yield shop
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def by_workers(table: Path) -> list[bool]:
    """Of each batch that added rows, whether workers have written them: delta-rs counts what it does itself."""
    found = []
    for path in sorted((table / "_delta_log").glob("*.json")):
        actions = {name: action for line in path.read_text().splitlines() for name, action in json.loads(line).items()}
        if "add" in actions and not actions["txn"]["appId"].startswith("cdckit/"):  # as what writes all files anew
            found.append("num_added_rows" not in actions["commitInfo"].get("operationMetrics", {}))
    return found


def test_a_changelog_has_each_change_once(log: SparkShop) -> None:
    logged(log, lambda: log.lake.found("a"))
    written = by_workers(log.table("a"))
    assert written and all(written)


def test_tables_change_hands_between_the_runners(log: SparkShop) -> None:
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2)")
    for number in range(3, 7):
        log.run(f"INSERT INTO t VALUES ({number}, {number}); UPDATE t SET v = v + 1")
        (log if number % 2 else log.direct).deliver()
    log.assert_equal(["t"])
    written = by_workers(log.table("t"))  # the direct runner's process writes files of its own, too
    assert written[0] and any(written[1:])


def test_definitions_that_change_in_mid_batch(log: SparkShop) -> None:
    """What was written before a change is read by the driver, where its columns are others now."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(9)); INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')")
    log.deliver()
    for change in (
        "ADD COLUMN city VARCHAR(9) DEFAULT 'Rome'",
        "RENAME COLUMN w TO word",
        "MODIFY v BIGINT",
        "DROP COLUMN city",
    ):
        log.run(f"UPDATE t SET v = v + 1; ALTER TABLE t {change}; UPDATE t SET v = v + 1")
        log.run("INSERT INTO t (id) SELECT MAX(id) + 1 FROM t")
    log.run("TRUNCATE TABLE t; INSERT INTO t VALUES (50, 1 << 40, 'c')")
    log.deliver()
    log.assert_equal(["t"])
    written = by_workers(log.table("t"))
    assert len(written) > 1 and all(written)


def test_rows_of_all_types_are_found_by_filters(log: SparkShop, session: SparkSession, nightly: bool) -> None:
    """They equal those of the direct runner, and no filter leaves out a file that has rows for it."""
    log.run(ALL_TYPES)
    direct = replace(log.direct, folder=log.folder / "direct")
    direct.folder.mkdir()
    for shop in (log, direct):
        shop.deliver()
    for row in ROWS:
        log.run(f"INSERT INTO t VALUES {row}")
        log.deliver()
    direct.deliver()
    assert rows_of(log.table("t")) == rows_of(direct.table("t"))
    assert by_workers(log.table("t")) == [True] * len(ROWS)
    assert_filters_find(session.read.format("delta").load(str(log.table("t"))), 1 if nightly else 3)


def rows_of(table: Path) -> list[dict[str, Any]]:
    """All but when a row was read."""
    found = DeltaVersion(DeltaTable(table))
    names = [name for name in found.schema().names if name != "__ts_ms"]
    rows = [row for batch in found.scan(names) for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: row["__position"])


def assert_filters_find(table: DataFrame, step: int) -> None:
    """By each value of each column, and by null, or one in so many: what Spark finds in all rows at once."""
    kinds = {name: kind for name, kind in table.dtypes if kind != "binary" and not kind.startswith("struct")}
    rows = table.select(*(sql.col(name).cast("string") for name in kinds)).collect()
    own = [name for name in kinds if name[:2] != "__"]
    asked = [(name, text) for name in own for text in sorted({row[name] for row in rows}, key=str)][::step]
    assert {name for name, _ in asked} == {*own}
    skipped = 0
    for name, text in asked:
        column = sql.col(name)
        wanted = column.isNull() if text is None else column == sql.lit(text).cast(kinds[name])
        filtered = table.where(wanted).select(column.cast("string"))
        assert [row[0] for row in filtered.collect()] == [row[name] for row in rows if row[name] == text], name
        skipped += files_read(filtered) < len(ROWS)
    assert skipped > len(asked) // 2


def files_read(frame: DataFrame) -> int:
    """How many files a query that was run had to read."""
    plan = frame._jdf.queryExecution().executedPlan()
    leaves = plan.collectLeaves()
    metrics = [leaves.apply(at).metrics() for at in range(leaves.size())]
    return sum(int(found.apply("numFiles").value()) for found in metrics if found.contains("numFiles"))


def test_a_changelog_in_a_bucket(log: SparkShop, object_store: ObjectStore) -> None:
    place = f"s3://{bucket(object_store, log.name)}/lake"
    sink = {"path": place, **{f"storage.options.{name}": value for name, value in storage(object_store).items()}}
    stored = replace(log, sink={**log.sink, **sink})
    stored.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2)")
    stored.deliver()
    stored.run("INSERT INTO t VALUES (3, 3); ALTER TABLE t MODIFY v BIGINT; INSERT INTO t VALUES (4, 1 << 40)")
    stored.deliver()
    table = DeltaTable(f"{place}/{log.name}.{log.name}.t", storage_options=storage(object_store))
    rows = [row for batch in DeltaVersion(table).scan(["id", "v"]) for row in batch.to_pylist()]
    assert sorted((row["id"], row["v"]) for row in rows if row["id"]) == [(1, 1), (2, 2), (3, 3), (4, 1 << 40)]


@pytest.mark.nightly
@pytest.mark.real_python
@pytest.mark.timeout(1800)
def test_each_change_is_there_once_after_kills(log: SparkShop) -> None:
    """Of drivers at any instant of their work, and of workers while they read and write."""
    seed = random_seed()
    chance, journal = Random(seed), Journal()
    log.run(WRITTEN)
    with (
        ShopWriter(log.server, log.name, journal, seed, accounts=3000, pause=0.05),
        BulkWriter(log.server, log.name, journal, seed, rows=500),
    ):
        for _ in range(2):
            kill_at_work(log, chance)
        with log.pipeline().running() as process:
            for _ in range(4):
                process.wait_until(lambda: _kill_workers(process, chance) > 0, "a worker", 240)
            process.stop()
    log.deliver()
    log.assert_equal(["accounts", "parts", "bulk"])
    assert any(by_workers(log.table("accounts")))
