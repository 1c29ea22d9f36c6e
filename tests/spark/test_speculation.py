"""`spark.speculation`: where tables are kept, a task's second attempt beside the first writes nothing twice."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from spark.event_logs import noted, noted_in
from spark.shop import assert_equal, random_seed, shop_source
from spark.test_cluster import OF_ONE_CORE, chosen_in_mid_batch, pipeline_on, run_disturbed
from testkit.running import Running
from testkit.servers.mysql import MySQLServer
from testkit.servers.spark_cluster import SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.real_python, pytest.mark.nightly, pytest.mark.timeout(900)]

EAGER = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.task.duration.threshold": "1s",
    "spark.speculation.efficiency.enabled": "false",
}
"""Has Spark begin a second attempt at whatever takes longer than others, or than a second."""
HOLDS = 4
"""So many executors stand still for a while in mid-batch, and so many of their Python processes."""
MOST = 20
"""So many more are tried where Spark has ended no attempt because of the other one."""
STILL = 4.0
"""For how many seconds: long enough for another attempt to begin, and for it to end or not."""
BESIDE = "another attempt succeeded"
"""Why Spark ends an attempt whose task the other one has done."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    """Two workers on hosts of their own, as Spark sees it: no second attempt runs on the host of the first."""
    with SparkCluster(cores=1, others=["127.0.0.2"]) as found:
        yield found


@pytest.mark.parametrize(
    ("mode", "sink"),
    [
        pytest.param("mirror", {"type": "spark"}, id="mirror"),
        pytest.param("changelog", {"type": "spark"}, id="changelog"),
        pytest.param("changelog", {"type": "delta", "task.file.bytes": 1}, id="files-of-workers"),
    ],
)
def test_tables_equal_the_source_though_tasks_run_twice(
    cluster: SparkCluster,
    session: SparkSession,
    mysql_server: MySQLServer,
    unique_name: str,
    tmp_path: Path,
    mode: str,
    sink: Mapping[str, Any],
) -> None:
    """The attempt that was first goes on when the other one runs, or has ended."""
    seed = random_seed()
    chance = random.Random(seed)
    source, lake = shop_source(mysql_server, unique_name), {"mode": mode, "path": str(tmp_path / "lake"), **sink}
    settings = {**OF_ONE_CORE, **EAGER, **noted_in(events := tmp_path / "events")}
    pipeline = pipeline_on(cluster, source, tmp_path, lake, **settings)
    run_disturbed(pipeline, mysql_server, unique_name, seed, _holds(cluster, chance, events))
    assert_equal(session, mysql_server, unique_name, tmp_path, mode)
    assert any(task["Task Info"]["Speculative"] for task in noted(events, "TaskStart"))
    assert _ended_beside_another(events)


def _holds(cluster: SparkCluster, chance: random.Random, events: Path) -> Iterator[Callable[[Running], None]]:
    """Some of both kinds, and more until one has met a task at work: a process may stand still between two of them."""
    holds = [cluster.python_workers, cluster.executors] * HOLDS
    chance.shuffle(holds)
    yield from (partial(_hold_in_mid_batch, processes, chance) for processes in holds)
    for _ in range(MOST):
        if _ended_beside_another(events):
            return
        yield partial(_hold_in_mid_batch, chance.choice(holds), chance)


def _ended_beside_another(events: Path) -> bool:
    return any(task["Task End Reason"].get("Kill Reason") == BESIDE for task in noted(events, "TaskEnd"))


def _hold_in_mid_batch(
    processes: Callable[[], Sequence[psutil.Process]], chance: random.Random, process: Running
) -> None:
    """Has one of the processes stand still for a while; one that is gone by then does not count."""
    held = False
    while not held:
        one, _ = chosen_in_mid_batch(process, processes, chance, 1)
        with suppress(psutil.NoSuchProcess):
            one.suspend()
            time.sleep(STILL)
            one.resume()
            held = True
