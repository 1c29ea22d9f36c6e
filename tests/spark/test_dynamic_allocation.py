"""Executors that come while a pipeline runs: each batch is cut for those that there are by then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from spark.event_logs import noted, noted_in
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.servers.spark_cluster import SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.real_python, pytest.mark.nightly, pytest.mark.timeout(900)]

EXECUTORS = 3
ROWS = 60
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CHANGE = "UPDATE t SET v = v + 1, filling = REPEAT(CHAR(97 + v), 100000) WHERE id = %s"
"""Of all rows some 12 MB of the log, in which pieces have a megabyte at least."""
ROUNDS = 8
AT_FIRST = 4
"""So many tasks are planned at the most for one executor, of which Spark says that there are two processors."""


@pytest.fixture
def cluster() -> Iterator[SparkCluster]:
    """A worker for some executors of one core each."""
    with SparkCluster(cores=EXECUTORS) as found:
        yield found


def test_parallelism_is_read_anew_for_each_batch(
    cluster: SparkCluster, mysql_server: MySQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    """Spark starts with one executor, and adds others for tasks that wait."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    mysql_server.run_sql("CREATE TABLE t (id INT PRIMARY KEY, v INT, filling LONGTEXT)", database=unique_name)
    rows = ",".join(f"({n}, 0, '')" for n in range(1, ROWS + 1))
    mysql_server.run_sql(f"INSERT INTO t VALUES {rows}", database=unique_name)
    create_reader(mysql_server)
    spark = {
        "master": cluster.url,
        "spark.driver.host": cluster.host,
        "spark.driver.bindAddress": cluster.host,
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "1",
        "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
        "spark.dynamicAllocation.executorIdleTimeout": "600s",
        "spark.executor.cores": "1",
        "spark.executor.memory": "500m",
        "spark.executor.extraJavaOptions": JVM,
        "spark.driver.extraJavaOptions": JVM,
        **noted_in(events := tmp_path / "events"),
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    source = source_of(mysql_server, unique_name, include_schema_changes=False)
    sink = {"type": "spark", "mode": "changelog", "path": str(tmp_path / "lake"), "commit.interval.ms": 5000}
    pipeline = Pipeline(tmp_path, source, sink, {"runner": "spark", "spark": spark})
    with pipeline.running() as process:
        process.wait_until(lambda: _committed(pipeline) > 0, "the snapshot", 300)
        for _ in range(ROUNDS):
            for row in range(1, ROWS + 1):
                mysql_server.execute(CHANGE, (row,), database=unique_name)
            before = _committed(pipeline)
            process.wait_until(lambda before=before: _committed(pipeline) > before, "a batch", 300)  # type: ignore[misc]
            if max(_tasks(events), default=0) > AT_FIRST:
                break
        assert process.stop().code == 0
    tasks = _tasks(events)
    assert tasks[0] <= AT_FIRST < max(tasks) <= 2 * EXECUTORS, tasks


def _committed(pipeline: Pipeline) -> int:
    return len([*(pipeline.state / "spark").glob("*/commits/[0-9]*")])


def _tasks(events: Path) -> list[int]:
    """How many tasks each stage had, one after the other."""
    return [stage["Stage Info"]["Number of Tasks"] for stage in noted(events, "StageSubmitted")]
