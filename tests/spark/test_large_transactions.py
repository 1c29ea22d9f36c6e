"""A backlog with a large transaction on Spark: what arrives of it, and how many batches it takes by time."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from spark.script import lines
from testkit.running import create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer

pytestmark = pytest.mark.spark

MB = 1 << 20
ROW = 100_000
"""So many bytes a row has."""


def _inserts(first: int, last: int) -> str:
    return "".join(f"INSERT INTO t VALUES ({number}, REPEAT('x', {ROW}));" for number in range(first, last))


def test_a_backlog_with_a_large_transaction(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> None:
    """It is read by several tasks, and arrives as it was committed, each event with its number."""
    create_reader(mysql_server)
    mysql_server.run_sql(
        f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT);"
    )
    options = {"snapshot_mode": "no_data", "provide_transaction_metadata": True, "column_exclude_list": r".*\.t\.v"}
    source = source_of(mysql_server, unique_name, **options)
    limits = {"batch.max.bytes": 8 * MB, "batch.target.ms": 600_000}
    pipeline = load_pipeline(to_file(tmp_path, source, runner="spark", **limits).written())
    SparkRunner(pipeline).run(once=True)
    mysql_server.run_sql(
        f"USE {unique_name}; {_inserts(0, 70)} BEGIN; {_inserts(70, 160)} COMMIT; {_inserts(160, 230)}"
    )
    before = _batches(pipeline.folder)
    SparkRunner(pipeline).run(once=True)
    found = [line for line in lines(tmp_path / "out.jsonl") if line["topic"].endswith(".t")]
    assert [line["key"]["id"] for line in found] == list(range(230))
    orders = [line["value"]["transaction"]["total_order"] for line in found]
    assert orders == [*[1] * 70, *range(1, 91), *[1] * 70]
    # The first ones have a megabyte, as an eighth of what is allowed; those behind, what time would allow.
    assert 3 <= _batches(pipeline.folder) - before <= 10
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def _batches(folder: Path) -> int:
    return sum(path.name.isdecimal() for path in folder.glob("spark/*/commits/*"))
