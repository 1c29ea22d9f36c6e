"""A pipeline on a cluster: the master's URL is all that changes."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from mysql.signalling import SIGNALS
from spark.checkpoints import in_hand
from spark.lake import at_source, mirrored
from spark.shop import assert_equal, random_seed, shop_source
from testkit.journal import Journal
from testkit.running import Pipeline, Running, create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.servers.spark_cluster import SparkCluster
from testkit.spark_java import ARCHIVED
from testkit.writers import BulkWriter, ShopWriter

pytestmark = [pytest.mark.spark, pytest.mark.real_python, pytest.mark.timeout(900)]

SECONDS = 300.0
ROWS = 3000
KILLS = 4
"""So many executors are killed, and so many of their Python workers."""
LONGEST_WORK = 4.0
"""How many seconds pass at the most between a batch's plan and a kill."""
OF_ONE_CORE = {"spark.executor.cores": "1", "spark.executor.memory": "640m"}
"""Has Spark start two executors on two cores."""
EXECUTOR_JVM = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {ARCHIVED}"


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    """A master and a worker."""
    with SparkCluster() as found:
        yield found


@pytest.fixture
def items(mysql_server: MySQLServer, unique_name: str) -> str:
    """A database with a filled table `items`."""
    table = "items (id INT PRIMARY KEY, name VARCHAR(40), n INT)"
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE TABLE {table}")
    mysql_server.execute(f"INSERT INTO {unique_name}.items VALUES " + ",".join(f"({n}, 'a', 0)" for n in range(ROWS)))
    create_reader(mysql_server)
    return unique_name


@pytest.mark.nightly
def test_a_mirror_equals_the_source(
    cluster: SparkCluster, session: SparkSession, mysql_server: MySQLServer, items: str, tmp_path: Path
) -> None:
    sink = {"type": "spark", "mode": "mirror", "path": str(tmp_path / "lake")}
    pipeline = pipeline_on(cluster, _source(mysql_server, items), tmp_path, sink)
    for statement in ("SET @nothing = 1", "UPDATE {0} SET n = id % 7 WHERE id < 900", "DELETE FROM {0} WHERE n = 3"):
        mysql_server.execute(statement.format(f"{items}.items"))
        ended = pipeline.run("--once", seconds=SECONDS)
        assert ended.code == 0, ended.stderr
    assert mirrored(session, tmp_path / "lake", f"p.{items}.items") == at_source(mysql_server, f"{items}.items")


def test_one_writer_in_the_driver_takes_what_the_executors_read(
    cluster: SparkCluster, mysql_server: MySQLServer, items: str, tmp_path: Path
) -> None:
    sink = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    pipeline = pipeline_on(cluster, _source(mysql_server, items), tmp_path, sink)
    ended = pipeline.run("--once", seconds=SECONDS)
    assert ended.code == 0, ended.stderr
    assert sorted(event["key"]["id"] for event in pipeline.events()) == list(range(ROWS))


@pytest.mark.nightly
def test_executors_are_given_what_the_planner_has_read(
    cluster: SparkCluster, mysql_server: MySQLServer, items: str, tmp_path: Path
) -> None:
    """Where signals are taken: the rows of an incremental snapshot are in files of the driver's machine."""
    mysql_server.run_sql(f"USE {items}; {SIGNALS} GRANT INSERT, DELETE ON {items}.signals TO reader;")
    source = {**_source(mysql_server, items), "signal.data.collection": f"{items}.signals"}
    pipeline = pipeline_on(cluster, source, tmp_path, {"type": "file", "path": str(tmp_path / "out.jsonl")})
    assert pipeline.run("--once", seconds=SECONDS).code == 0
    asked = json.dumps({"data-collections": [f"{items}.items"]})
    mysql_server.execute(f"INSERT INTO {items}.signals VALUES ('s1', 'execute-snapshot', %s)", (asked,))
    mysql_server.execute(f"UPDATE {items}.items SET n = 5 WHERE id = 1")
    ended = pipeline.run("--once", seconds=SECONDS)
    assert ended.code == 0, ended.stderr
    told = [event["value"] for event in pipeline.events() if event["topic"].endswith(".items")]
    again = [value["after"]["id"] for value in told if value["source"]["snapshot"] == "incremental"]
    assert sorted(again) == list(range(ROWS))
    assert [value["after"]["n"] for value in told if value["op"] == "u"] == [5]


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["mirror", "changelog"])
def test_tables_equal_the_source_though_executors_and_their_workers_are_killed(
    cluster: SparkCluster,
    session: SparkSession,
    mysql_server: MySQLServer,
    unique_name: str,
    tmp_path: Path,
    mode: str,
) -> None:
    """In mid-batch: what a task has read is read again, and rows of other tasks that died with it."""
    seed = random_seed()
    chance = random.Random(seed)
    sink = {"type": "spark", "mode": mode, "path": str(tmp_path / "lake")}
    pipeline = pipeline_on(cluster, shop_source(mysql_server, unique_name), tmp_path, sink, **OF_ONE_CORE)
    kills = [cluster.python_workers, cluster.executors] * KILLS
    chance.shuffle(kills)
    disturb = [partial(_kill_in_mid_batch, processes, chance) for processes in kills]
    run_disturbed(pipeline, mysql_server, unique_name, seed, disturb)
    assert_equal(session, mysql_server, unique_name, tmp_path, mode)


def run_disturbed(
    pipeline: Pipeline, server: MySQLServer, name: str, seed: int, disturbances: Iterable[Callable[[Running], None]]
) -> None:
    """Runs a pipeline while its database is written to and things happen to it, then once more, to the log's end."""
    journal = Journal()
    with (
        ShopWriter(server, name, journal, seed, accounts=5000, pause=0.05),
        BulkWriter(server, name, journal, seed, rows=500),
        pipeline.running() as process,
    ):
        for disturb in disturbances:
            disturb(process)
        process.stop()
    ended = pipeline.run("--once", seconds=SECONDS)
    assert ended.code == 0, ended.stderr


def chosen_in_mid_batch(
    process: Running, processes: Callable[[], Sequence[psutil.Process]], chance: random.Random, longest: float
) -> tuple[psutil.Process, int]:
    """One of the processes, up to so many seconds after a batch was planned that is still in hand, and the batch."""
    while True:
        process.wait_until(lambda: in_hand(process.pipeline.state) is not None, "a batch", SECONDS)
        batch = in_hand(process.pipeline.state)
        time.sleep(chance.uniform(0, longest))
        running = processes()
        if batch is not None and running and in_hand(process.pipeline.state) == batch:
            return chance.choice(running), batch


def _kill_in_mid_batch(
    processes: Callable[[], Sequence[psutil.Process]], chance: random.Random, process: Running
) -> None:
    """Kills one of the processes; one that dies when its batch is over, or before any, does not count."""
    killed = False
    while not killed:
        one, batch = chosen_in_mid_batch(process, processes, chance, LONGEST_WORK)
        one.kill()
        killed = in_hand(process.pipeline.state) == batch


def _source(server: MySQLServer, items: str) -> dict[str, Any]:
    return source_of(server, items, include_schema_changes=False)


def pipeline_on(
    cluster: SparkCluster, source: dict[str, Any], folder: Path, sink: dict[str, Any], **others: str
) -> Pipeline:
    """A pipeline whose executors are the cluster's, with more of Spark's settings."""
    spark = {
        "master": cluster.url,
        "spark.driver.host": cluster.host,
        "spark.driver.bindAddress": cluster.host,
        "spark.executor.memory": "1g",
        "spark.executor.extraJavaOptions": EXECUTOR_JVM,
        "spark.driver.extraJavaOptions": EXECUTOR_JVM,
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.databricks.delta.snapshotPartitions": "2",
        **others,
    }
    settings = {"serializer": {"schemas.enable": False}, "runner": "spark", "spark": spark}
    return Pipeline(folder, source, sink, settings)
