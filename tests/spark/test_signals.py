"""Signals on Spark: the planner reads the log in order, and what it reads is kept until Spark has committed it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdckit.connector.signals import Signal, send
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.runners.stop import StopSignal
from mysql.signalling import SIGNALS
from spark.conftest import FAST_JVM
from spark.lake import at_source, mirrored
from spark.test_runner import wait_for as wait
from testkit.running import Pipeline, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

MANY = 160
"""Rows of which each is a chunk of its own."""
SLOW = "CREATE TRIGGER slow BEFORE INSERT ON signals FOR EACH ROW DO SLEEP(0.05)"
"""Each chunk has two watermarks, so that many chunks take many seconds, however late somebody looks at them."""
ROWS = ", ".join(f"({number}, {number % 2})" for number in range(100))
TABLES = f"""
CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE u (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES {ROWS}; INSERT INTO u VALUES (1, 1); {SIGNALS}
"""


wait_for = partial(wait, seconds=240)


@pytest.fixture
def tables(session: SparkSession, mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database with the tables `t` (100 rows), `u` (one) and `signals`."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; {TABLES}")
    create_reader(mysql_server)
    mysql_server.run_sql(f"GRANT INSERT, DELETE ON {unique_name}.signals TO reader")
    yield unique_name
    mysql_server.run_sql(f"DROP DATABASE {unique_name}")


def _source(server: MySQLServer, database: str, **options: Any) -> dict[str, Any]:
    signalled = {
        "table_include_list": rf"{database}\.[tu]",
        "signal_data_collection": f"{database}.signals",
        "signal_poll_interval_ms": 10,
        "incremental_snapshot_chunk_size": 7,
    }
    return source_of(server, database, **{**signalled, **options})


def _ask(server: MySQLServer, database: str, identifier: str, kind: str = "execute-snapshot", **data: Any) -> None:
    statement = f"INSERT INTO {database}.signals VALUES (%s, %s, %s)"
    server.execute(statement, (identifier, kind, json.dumps({name.replace("_", "-"): data[name] for name in data})))


def _once(pipeline: Pipeline) -> None:
    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)


@contextmanager
def _running(pipeline: Pipeline) -> Iterator[Callable[[], bool]]:
    stopping = StopSignal()
    thread = threading.Thread(target=SparkRunner(load_pipeline(pipeline.written(), runner="spark"), stopping).run)
    thread.start()
    try:
        yield thread.is_alive
    finally:
        stopping.stop()
        thread.join(120)
    assert not thread.is_alive()


def _newest(events: list[dict[str, Any]], topic: str) -> dict[int, int]:
    rows: dict[int, int] = {}
    for event in events:
        if event["topic"] == topic and event["value"] is not None:
            value = event["value"]
            if value["op"] == "d":
                rows.pop(value["before"]["id"])
            else:
                rows[value["after"]["id"]] = value["after"]["v"]
    return rows


def test_a_table_is_read_again_while_it_is_written(mysql_server: MySQLServer, tables: str, tmp_path: Path) -> None:
    pipeline = to_file(tmp_path, _source(mysql_server, tables))
    topic = f"p.{tables}.t"
    with _running(pipeline):
        wait_for(lambda: pipeline.output.exists() and len(pipeline.events()) >= 101)
        _ask(mysql_server, tables, "s1", data_collections=[f"{tables}.t"])
        for number in range(40):
            mysql_server.run_sql(f"UPDATE t SET v = v + 10 WHERE id IN ({number}, {number + 50})", database=tables)
        mysql_server.run_sql("DELETE FROM t WHERE id = 99", database=tables)
        wait_for(lambda: any(map(_is_again, pipeline.events())))
    _once(pipeline)
    again = [event["value"]["after"]["id"] for event in pipeline.events() if _is_again(event)]
    assert len(again) == len(set(again))
    assert {*again} >= {*range(40, 50), *range(90, 99)}, "rows that change are told by that where it meets their chunk"
    assert _newest(pipeline.events(), topic) == dict(mysql_server.execute(f"SELECT id, v FROM {tables}.t"))
    assert "cdckit_incremental" not in (pipeline.offset() or {})


def _is_again(event: dict[str, Any]) -> bool:
    value = event["value"] or {}
    return str(value.get("source", {}).get("snapshot")) == "incremental"


@pytest.mark.nightly
def test_a_driver_that_is_killed_goes_on_with_the_rows_that_are_left(
    mysql_server: MySQLServer, tables: str, tmp_path: Path
) -> None:
    """As a program of its own, killed while a table is read again row by row, in several batches."""
    more = ", ".join(f"({number}, 0)" for number in range(100, MANY))
    mysql_server.execute(f"INSERT INTO {tables}.t VALUES {more}")
    mysql_server.run_sql(SLOW, database=tables)
    source = _source(mysql_server, tables, incremental_snapshot_chunk_size=1)
    pipeline = to_file(tmp_path, source, runner="spark", spark={"spark.master": "local[2]", **FAST_JVM})
    with pipeline.running() as process:
        process.wait_until(lambda: pipeline.output.exists() and len(pipeline.events()) > MANY, "the rows", 240)
        _ask(mysql_server, tables, "s1", data_collections=[f"{tables}.t"])
        process.wait_until(lambda: any(map(_is_again, pipeline.events())), "rows that are read again", 240)
        process.kill()
    again = [event["value"]["after"]["id"] for event in pipeline.events() if _is_again(event)]
    assert len(again) < MANY, "it was killed too late"
    changes = "UPDATE t SET v = 7 WHERE id IN (3, 150); DELETE FROM t WHERE id = 155"
    mysql_server.run_sql(f"DROP TRIGGER slow; {changes}", database=tables)
    # On a busy machine each small chunk is a batch of its own: the rows that are left come in few large ones.
    _once(replace(pipeline, source={**source, "incremental.snapshot.chunk.size": MANY}))
    again = [event["value"]["after"]["id"] for event in pipeline.events() if _is_again(event)]
    assert {*again} | {3, 150, 155} == {*range(MANY)}, "what changed meanwhile may be told by its change alone"
    assert _newest(pipeline.events(), f"p.{tables}.t") == dict(mysql_server.execute(f"SELECT id, v FROM {tables}.t"))


@pytest.mark.parametrize("kind", ["incremental", pytest.param("blocking", marks=pytest.mark.nightly)])
def test_a_mirror_keeps_its_rows_while_a_table_is_read_again(
    session: SparkSession, mysql_server: MySQLServer, tables: str, tmp_path: Path, kind: str
) -> None:
    """Rows that are read again are no new snapshot of the table: those that nobody read again stay."""
    lake = tmp_path / "lake"
    sink = {"type": "spark", "mode": "mirror", "path": str(lake)}
    pipeline = Pipeline(tmp_path, _source(mysql_server, tables), sink)
    _once(pipeline)
    session.sql(f"UPDATE delta.`{lake}/p.{tables}.t` SET v = -1 WHERE id < 50")
    condition = {"data-collection": f"{tables}.t", "filter": "id < 50"}
    _ask(mysql_server, tables, "s1", data_collections=[f"{tables}.t"], additional_conditions=[condition], type=kind)
    mysql_server.run_sql("UPDATE t SET v = 7 WHERE id IN (3, 70); DELETE FROM t WHERE id = 20;", database=tables)
    _once(pipeline)
    for table in ("t", "u"):
        assert mirrored(session, lake, f"p.{tables}.{table}") == at_source(mysql_server, f"{tables}.{table}")
    done = [row.operation for row in session.sql(f"DESCRIBE HISTORY delta.`{lake}/p.{tables}.t`").collect()]
    assert done.count("WRITE") == 1, "the table was written whole once, by the first snapshot"


def test_notifications_heartbeats_and_signals_of_the_process(
    mysql_server: MySQLServer, tables: str, tmp_path: Path
) -> None:
    source = _source(
        mysql_server, tables,
        signal_enabled_channels="in-process", notification_enabled_channels="sink",
        notification_sink_topic_name="told", heartbeat_interval_ms=500,
    )  # fmt: skip
    pipeline = to_file(tmp_path, source)

    def told() -> list[tuple[str, str]]:
        events = pipeline.events() if pipeline.output.exists() else []
        values = [event["value"] for event in events if event["topic"] == "told"]
        return [(value["aggregate_type"].split()[0], value["type"]) for value in values]

    with _running(pipeline):
        wait_for(lambda: ("Initial", "COMPLETED") in told())
        send("p", Signal("s1", "execute-snapshot", {"data-collections": [f"{tables}.t"]}))
        wait_for(lambda: ("Incremental", "COMPLETED") in told())
        wait_for(lambda: any(event["topic"] == "__debezium-heartbeat.p" for event in pipeline.events()))
    kinds = [kind for aggregate, kind in told() if aggregate == "Initial"]
    assert kinds[0] == "STARTED"
    assert sorted(kinds[1:-1]) == ["IN_PROGRESS"] * 2 + ["TABLE_SCAN_COMPLETED"] * 2
    assert kinds[-1] == "COMPLETED"
    assert sum(map(_is_again, pipeline.events())) == 100
