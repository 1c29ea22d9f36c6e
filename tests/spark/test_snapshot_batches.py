"""Snapshots that are read in several batches: mirrors and messages come to the source, and a kill repeats one batch."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from spark.dying_sink import DIED, dies_once
from spark.lake import at_source, mirrored
from testkit.background import repeated
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

TABLES = """
CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(20));
CREATE TABLE b (x DECIMAL(9,2), y DATETIME(3), v INT, PRIMARY KEY (x, y));
CREATE TABLE c (v INT); CREATE TABLE d (id INT PRIMARY KEY);
INSERT INTO a WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 400)
  SELECT n, CONCAT('v', n) FROM s;
INSERT INTO b SELECT id DIV 3 + 0.5, '2020-01-01' + INTERVAL id HOUR, id FROM a; INSERT INTO c VALUES (1), (1), (2);
"""


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> str:
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; {TABLES}")
    create_reader(mysql_server)
    return unique_name


def _writes(server: MySQLServer, shop: str) -> AbstractContextManager[None]:
    """Changes of all tables, all the time."""
    numbers = count(1)

    def write() -> None:
        number = next(numbers)
        server.run_sql(
            f"USE {shop}; UPDATE a SET v = 'w{number}' WHERE id % 37 = {number % 37};"
            f"DELETE FROM a WHERE id = {number};"
            f"INSERT INTO a VALUES ({1000 + number}, 'new'); UPDATE a SET id = -id WHERE id = {400 - number};"
            f"UPDATE b SET x = x + 1000 WHERE v = {number * 3}; INSERT INTO d VALUES ({number});"
        )

    return repeated(write, 0.02)


def _pipeline(folder: Path, server: MySQLServer, shop: str, sink: dict[str, Any], **options: Any) -> Pipeline:
    source = {**source_of(server, shop), "snapshot.batch.rows": 150, "include.schema.changes": False}
    return Pipeline(folder, source, sink, {"offset.flush.interval.ms": 0, **options})


def _run(pipeline: Pipeline) -> None:
    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)


def _assert_mirrors(session: SparkSession, lake: Path, server: MySQLServer, shop: str) -> None:
    for table in "abcd":
        assert mirrored(session, lake, f"p.{shop}.{table}") == at_source(server, f"{shop}.{table}"), table


@pytest.mark.parametrize("small", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_mirrors_equal_the_source_whatever_is_written_meanwhile(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path, small: bool
) -> None:
    lake = tmp_path / "lake"
    sink = {"type": "spark", "mode": "mirror", "path": str(lake), "small.batch.rows": 50_000 if small else 0}
    pipeline = _pipeline(tmp_path, mysql_server, shop, sink)
    with _writes(mysql_server, shop):
        _run(pipeline)
    _run(pipeline)
    _assert_mirrors(session, lake, mysql_server, shop)


def test_a_batch_that_was_not_finished_is_all_that_is_repeated(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changelog shows each row that was read, and from which batch on a second run went on."""
    lake = tmp_path / "lake"
    pipeline = _pipeline(tmp_path, mysql_server, shop, {"type": "spark", "mode": "changelog", "path": str(lake)})
    written = dies_once(monkeypatch, 3)
    with pytest.raises(SinkError, match="it died"):
        _run(pipeline)
    at = pipeline.offset() or {}
    assert at["cdckit_snapshot_cursor"]["table"] == f"{shop}.b", "after three batches of 152 rows"
    mysql_server.run_sql(f"USE {shop}; UPDATE a SET v = 'new' WHERE id = 7; DELETE FROM b WHERE v = 3;")
    _run(pipeline)
    assert written[:6] == [0, 1, 2, DIED, 3, 4]
    rows = session.read.format("delta").load(str(lake / f"p.{shop}.a")).collect()
    assert Counter(row["__op"] for row in rows) == {"r": 400, "u": 1}
    assert len({row["__position"] for row in rows}) == 401
    rows = session.read.format("delta").load(str(lake / f"p.{shop}.b")).collect()
    reads = [row["v"] for row in rows if row["__op"] == "r"]
    assert sorted([*reads, *([] if 3 in reads else [3])]) == list(range(1, 401))


@pytest.mark.nightly
def test_a_killed_driver_repeats_the_open_batch(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    spark = {"spark.master": "local[2]", "spark.ui.enabled": "false"}
    pipeline = _pipeline(
        tmp_path, mysql_server, shop, {"type": "file", "path": str(output)}, runner="spark", spark=spark
    )
    with pipeline.running("--once") as process:
        process.wait_until(lambda: "cdckit_snapshot_cursor" in (pipeline.offset() or {}), "a part of the snapshot")
        process.kill()
    ended = pipeline.run("--once", seconds=300)
    assert ended.code == 0, ended.stderr
    reads = Counter(
        json.dumps(event["key"])
        for event in map(json.loads, output.read_text().splitlines())
        if event["value"] and event["value"]["op"] == "r" and event["value"]["source"]["table"] == "a"
    )
    assert len(reads) == 400
    assert sum(reads.values()) <= 400 + 160
