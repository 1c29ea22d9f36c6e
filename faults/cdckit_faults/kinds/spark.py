"""Faults of a pipeline that runs on a cluster of Spark."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

import psutil

from cdckit_faults.kinds.kind import Kind
from cdckit_faults.stage import PATIENCE, Stage
from testkit.servers.spark_cluster import SparkCluster


def _driver(stage: Stage, chance: random.Random) -> None:
    time.sleep(chance.uniform(0, 2))
    stage.driver.kill()
    stage.start()


def _executor(stage: Stage, chance: random.Random) -> None:
    _kill_one(stage, chance, _cluster(stage).executors)


def _worker(stage: Stage, chance: random.Random) -> None:
    _kill_one(stage, chance, _cluster(stage).python_workers)


def _kill_one(stage: Stage, chance: random.Random, running: Callable[[], Sequence[psutil.Process]]) -> None:
    stage.wait_until(lambda: bool(running()), PATIENCE)
    time.sleep(chance.uniform(0, 2))
    if found := running():
        chance.choice(found).kill()
    else:
        stage.notes.append("none was there")


def _cluster(stage: Stage) -> SparkCluster:
    assert stage.place.cluster is not None
    return stage.place.cluster


KINDS = (
    Kind("driver-kill", "spark", "SIGKILL of Spark's driver, and a new start", "", _driver, lane="spark"),
    Kind("executor-kill", "spark", "SIGKILL of an executor", "", _executor, lane="spark"),
    Kind("worker-kill", "spark", "SIGKILL of an executor's Python worker", "", _worker, lane="spark"),
)
