"""Exactly-once to Kafka on Spark: drivers, Python workers and the broker are killed, and each change is seen once."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from crash.proof import assert_each_once
from crash.targets import ExactTarget
from spark.conftest import FAST_JVM
from spark.shop import random_seed, shop_source
from testkit.descendants import descendants
from testkit.journal import Journal
from testkit.running import Pipeline, Running
from testkit.servers.kafka import QUICK_TO_BELIEVE_IN_DEATH, KafkaBroker
from testkit.servers.mysql import MySQLServer
from testkit.writers import BulkWriter, ShopWriter

pytestmark = [pytest.mark.spark, pytest.mark.real_python, pytest.mark.timeout(3600)]

LONGEST_WORK = 3.0
"""How many seconds pass at the most between a batch that has arrived and a kill."""
SECONDS = 240


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    """A broker of the test's own, to be killed."""
    with KafkaBroker().start(**QUICK_TO_BELIEVE_IN_DEATH) as broker:
        yield broker


def test_every_change_is_seen_once_and_in_order(
    mysql_server: MySQLServer,
    broker: KafkaBroker,
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    afterwards: ExitStack,
) -> None:
    """Also where the runner changes: each next run may be another one's."""
    seed = random_seed()
    chance = random.Random(seed)
    target, journal = ExactTarget(broker, unique_name), Journal()
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    pipeline = Pipeline(
        tmp_path,
        shop_source(mysql_server, unique_name),
        target.sink,
        {"spark": {"spark.master": "local[2]", **FAST_JVM}, "serializer": {"schemas.enable": False}},
    )
    assert pipeline.run("--once").code == 0  # of empty tables, so that every change has an event
    runs = ["spark", "direct"] * 9 if nightly else ["spark"]
    killed: dict[str, int] = defaultdict(int)
    with (
        ShopWriter(mysql_server, unique_name, journal, seed, accounts=500, pause=0.02),
        BulkWriter(mysql_server, unique_name, journal, seed, rows=300),
    ):
        for runner in runs:
            with pipeline.running("--runner", runner) as process:
                _wait_for_more(process, target)
                if runner == "spark":
                    for _ in range(2 if nightly else 1):
                        killed["worker"] += _kill_workers(process, chance)
                        _wait_for_more(process, target)
                if nightly or not killed["broker"]:
                    _at_random(chance, lambda: _restart(broker))
                    killed["broker"] += 1
                    _wait_for_more(process, target)
                _at_random(chance, process.kill)
                killed[runner] += 1
    ended = pipeline.run("--once", "--runner", "direct", seconds=300)
    assert ended.code == 0, ended.stderr
    print(f"killed: {dict(killed)}")
    assert not nightly or sum(killed.values()) >= 45
    assert_each_once(target.delivered(), journal, defaultdict(int))


def _wait_for_more(process: Running, target: ExactTarget) -> None:
    before = target.size()
    process.wait_until(lambda: target.size() > before, "more records", SECONDS)


def _at_random(chance: random.Random, kill: Callable[[], None]) -> None:
    time.sleep(chance.uniform(0, LONGEST_WORK))
    kill()


def _restart(broker: KafkaBroker) -> None:
    broker.kill()
    broker.start()


def _kill_workers(process: Running, chance: random.Random) -> int:
    """Kills one of the Python processes that read and send; the planner is none of them."""
    time.sleep(chance.uniform(0, LONGEST_WORK))
    workers = descendants(process.process.pid, "pyspark.daemon")
    with suppress(psutil.NoSuchProcess):  # Spark ends some by itself
        if workers:
            chance.choice(workers).kill()
            return 1
    return 0
