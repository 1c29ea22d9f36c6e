"""A pipeline on a cluster: the master's URL is all that changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.lake import at_source, mirrored
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.servers.spark_cluster import SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

SECONDS = 300.0
ROWS = 3000
EXECUTOR_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


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
    pipeline = _pipeline(cluster, mysql_server, items, tmp_path, sink)
    for statement in ("SET @nothing = 1", "UPDATE {0} SET n = id % 7 WHERE id < 900", "DELETE FROM {0} WHERE n = 3"):
        mysql_server.execute(statement.format(f"{items}.items"))
        ended = pipeline.run("--once", seconds=SECONDS)
        assert ended.code == 0, ended.stderr
    assert mirrored(session, tmp_path / "lake", f"p.{items}.items") == at_source(mysql_server, f"{items}.items")


def test_one_writer_in_the_driver_takes_what_the_executors_read(
    cluster: SparkCluster, mysql_server: MySQLServer, items: str, tmp_path: Path
) -> None:
    pipeline = _pipeline(cluster, mysql_server, items, tmp_path, {"type": "file", "path": str(tmp_path / "out.jsonl")})
    ended = pipeline.run("--once", seconds=SECONDS)
    assert ended.code == 0, ended.stderr
    assert sorted(event["key"]["id"] for event in pipeline.events()) == list(range(ROWS))


def _pipeline(cluster: SparkCluster, server: MySQLServer, items: str, folder: Path, sink: dict[str, str]) -> Pipeline:
    spark = {
        "master": cluster.url,
        "spark.driver.host": cluster.host,
        "spark.driver.bindAddress": cluster.host,
        "spark.executor.memory": "1g",
        "spark.executor.extraJavaOptions": EXECUTOR_JVM,
        "spark.driver.extraJavaOptions": EXECUTOR_JVM,
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "4",
    }
    settings = {"serializer": {"schemas.enable": False}, "runner": "spark", "spark": spark}
    source = source_of(server, items, include_schema_changes=False)
    return Pipeline(folder, source, sink, settings)
