"""The data source in a user's own Spark job."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from cdckit.spark import CdckitDataSource
from spark.own_rows import source_options
from testkit.servers.mysql import MySQLServer

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "spark_job.py"


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database with a table of three items."""
    mysql_server.execute(f"create database {unique_name}")
    mysql_server.execute(f"create table {unique_name}.items (id int primary key, price decimal(8,2))")
    mysql_server.execute(f"insert into {unique_name}.items values (1, 1.50), (2, 2.50), (3, 3.50)")
    yield unique_name
    mysql_server.execute(f"drop database {unique_name}")


def options(server: MySQLServer, shop: str) -> dict[str, str]:
    """A source's options by their full names."""
    return source_options(server, shop, 5701) | {
        "source.table.include.list": f"{shop}.items",
        "source.include.schema.changes": "false",
        "source.decimal.handling.mode": "string",
        "serializer.type": "json",
        "serializer.schemas.enable": "false",
    }


def test_batch_read_holds_snapshot_and_log(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    session.dataSource.register(CdckitDataSource)
    reader = session.read.format("cdckit").options(**options(mysql_server, shop), state=str(tmp_path / "state"))
    rows = reader.load().where("topic like '%items'").collect()
    assert {json.loads(row.key)["id"]: json.loads(row.value)["after"]["price"] for row in rows} == {
        1: "1.50", 2: "2.50", 3: "3.50",
    }  # fmt: skip
    assert all(row.position and row.timestamp for row in rows)


def test_an_idle_stream_does_not_hold_up_other_sources(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    session.dataSource.register(CdckitDataSource)
    reader = session.readStream.format("cdckit").options(**options(mysql_server, shop), state=str(tmp_path / "state"))
    others = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    both = reader.load().select("topic").union(others.selectExpr("'rate' as topic"))
    query = both.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).format("noop").start()
    try:
        deadline = time.monotonic() + 240
        while not (planned := [idle for idle in _idle_waits(query) if idle < 5000]) and time.monotonic() < deadline:
            assert query.exception() is None
            time.sleep(0.2)
        assert planned, "every batch of the other source was held up for as long as an idle stream may wait, 10 s"
    finally:
        query.stop()


def _idle_waits(query: StreamingQuery) -> list[int]:
    """How long, in milliseconds, batches waited for the ends of their sources; the first ones read the snapshot."""
    return [progress["durationMs"]["latestOffset"] for progress in query.recentProgress[2:]]


def test_wrong_options_are_told_at_once(session: SparkSession) -> None:
    session.dataSource.register(CdckitDataSource)
    with pytest.raises(Exception, match=r"source.database.hostnam: unknown option; did you mean"):
        session.readStream.format("cdckit").options(
            **{"source.type": "mysql", "source.database.hostnam": "localhost"}
        ).load()


def test_the_example_goes_on_where_it_stopped(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    pipeline = tmp_path / "pipeline.json"
    told = options(mysql_server, shop) | {"source.include.schema.changes": "true"}
    pipeline.write_text(json.dumps(_nested(told) | {"state": str(tmp_path / "state")}))
    assert _run_example(pipeline, tmp_path / "out") == 0  # as a program; then in the shared session
    mysql_server.execute(f"update {shop}.items set price = 9.99 where id = 2")
    runpy.run_path(str(EXAMPLE))["main"](str(pipeline), str(tmp_path / "out"))
    prices = session.read.parquet(str(tmp_path / "out" / "prices"))
    found = prices.orderBy("position").select("op", "id", "price_before", "price_after").collect()
    assert [tuple(row) for row in found][-1] == ("u", 2, "2.50", "9.99")
    assert sorted(tuple(row) for row in found[:-1]) == [
        ("r", 1, None, "1.50"), ("r", 2, None, "2.50"), ("r", 3, None, "3.50"),
    ]  # fmt: skip


def test_a_process_of_a_query_does_without_what_reads_pipeline_files() -> None:
    """Each query starts some, and waits for them."""
    program = (
        "import sys, cdckit.engine.spark.datasource\n"
        "print([name for name in ('cdckit.engine.config.loading', 'cdckit.engine.config.requirements', 'yaml') "
        "if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def _run_example(pipeline: Path, output: Path) -> int:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    run = subprocess.run([sys.executable, EXAMPLE, pipeline, output], env=environment, check=False)
    return run.returncode


def _nested(options: dict[str, str]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in options.items():
        component, _, option = name.partition(".")
        tree.setdefault(component, {})[option] = value
    return tree
