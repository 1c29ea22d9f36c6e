"""`tail: direct`: Spark has snapshots and backlogs, a direct process beside the driver the tail.

Tables do not change while their snapshot is read, so that every change has an event behind its row.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from crash.proof import assert_complete, assert_each_once, without_repeats
from crash.targets import ExactTarget, FileTarget, KafkaTarget, Target
from spark.hands import BACK, BACKLOG, BESIDE, OPTIONS, SECONDS, SNAPSHOT, await_records, await_spark, await_tail, held
from spark.shop import random_seed, shop_source
from testkit.journal import Change, Journal, Key
from testkit.running import Pipeline, Running
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer
from testkit.writers import ShopWriter

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

MANY = 160_000
"""More rows than a direct process takes of a snapshot at a time, also by an estimate of InnoDB's."""
BURST = 5_000


@dataclass
class Shop:
    """A database whose rows are changed and noted."""

    server: MySQLServer
    name: str
    journal: Journal = field(default_factory=Journal)
    bursts: int = 0

    def pipeline(self, folder: Path, target: Target, **source: Any) -> Pipeline:
        """From there to a target."""
        return Pipeline(folder, {**shop_source(self.server, self.name), **source}, target.sink, OPTIONS)

    def burst(self) -> None:
        """Commits many rows at once."""
        self.bursts += 1
        first = self.bursts * 1_000_000
        made = [(first + number, f"x{first + number}") for number in range(BURST)]
        self.server.run_sql(f"INSERT INTO bulk VALUES {', '.join(map(str, made))}", database=self.name)
        self.journal.commits([(Key("bulk", (key,)), Change("c", token)) for key, token in made])


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> Iterator[Shop]:
    """Its tables are empty."""
    yield Shop(mysql_server, unique_name)
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def test_a_snapshot_a_backlog_and_the_tail_are_each_told_once(
    shop: Shop, kafka_broker: KafkaBroker, tmp_path: Path, nightly: bool
) -> None:
    """A snapshot that is too large for the direct process, then it and Spark in turn: no change is told twice.

    Nor is there another snapshot with each of them, where there is to be one with every start.
    """
    target = ExactTarget(kafka_broker, shop.name)
    pipeline = shop.pipeline(tmp_path, target, **{"snapshot.batch.rows": 2 * MANY, "snapshot.mode": "always"})
    writer = ShopWriter(shop.server, shop.name, shop.journal, 1, accounts=MANY, pause=0.01)
    known = shop.journal.lengths()
    with pipeline.running() as process:
        process.wait_until(lambda: SNAPSHOT in process.log, "the snapshot", SECONDS)
        await_tail(process)
        _in_turn(shop, writer, process, target, 2 if nightly else 1)
    rest = replace(pipeline, source={**pipeline.source, "snapshot.mode": "initial"})
    assert rest.run("--once", seconds=SECONDS).code == 0
    assert_each_once(target.delivered(), shop.journal, defaultdict(int, known))


@pytest.mark.nightly
def test_a_snapshot_begins_while_spark_starts(shop: Shop, tmp_path: Path) -> None:
    """The direct process reads its first parts; Spark and it have the log in turn."""
    target = FileTarget(tmp_path)
    pipeline = shop.pipeline(tmp_path, target, **{"snapshot.batch.rows": 100})
    writer = ShopWriter(shop.server, shop.name, shop.journal, 1, accounts=3000, pause=0.01)
    known = shop.journal.lengths()
    with pipeline.running() as process:
        process.wait_until(lambda: BESIDE in process.log and target.size() > 0, "the first rows", SECONDS)
        assert SNAPSHOT not in process.log
        process.wait_until(lambda: is_past_snapshot(pipeline), "the last ones", SECONDS)
        _in_turn(shop, writer, process, target, 2)
    assert pipeline.run("--once", seconds=SECONDS).code == 0
    assert_each_once(target.delivered(), shop.journal, defaultdict(int, known))


def is_past_snapshot(pipeline: Pipeline) -> bool:
    """Whether the log comes next."""
    offset = pipeline.offset()
    return offset is not None and not offset.get("snapshot")


def _in_turn(shop: Shop, writer: ShopWriter, process: Running, target: Target, turns: int) -> None:
    with writer:
        for _ in range(turns):
            await_spark(process)
            shop.burst()
            with held(writer):
                await_tail(process)
            await_records(process, target)
        assert BACKLOG in process.log
        ended = process.stop()
    assert ended.code == 0, ended.stderr


@pytest.mark.nightly
def test_java_that_was_killed_in_the_tail_is_started_anew(shop: Shop, tmp_path: Path) -> None:
    """It has nothing in hand then, and is what takes most memory."""
    target = FileTarget(tmp_path)
    pipeline = shop.pipeline(tmp_path, target)
    writer = ShopWriter(shop.server, shop.name, shop.journal, 1, accounts=100, pause=0.01)
    known = shop.journal.lengths()
    assert pipeline.run("--once", seconds=SECONDS).code == 0
    with pipeline.running() as process:
        with writer:
            await_spark(process)
            with held(writer):
                await_tail(process)
                [java] = [one for one in psutil.Process(process.process.pid).children(True) if one.name() == "java"]
                java.kill()
                process.wait_until(lambda: java.status() == psutil.STATUS_ZOMBIE, "Java's end")
            process.wait_until(lambda: "it is started anew" in process.log, "another stage on Spark", SECONDS)
            with held(writer):
                process.wait_until(lambda: process.log.count(BACK) > 1, "the tail", SECONDS)
            await_records(process, target)
        ended = process.stop()
    assert ended.code == 0, ended.stderr
    assert pipeline.run("--once", seconds=SECONDS).code == 0
    assert_each_once(target.delivered(), shop.journal, defaultdict(int, known))


@pytest.mark.parametrize("kind", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.nightly)])
def test_kills_at_the_switches_lose_nothing(
    shop: Shop, kafka_broker: KafkaBroker, tmp_path: Path, kind: str, nightly: bool
) -> None:
    """Killed as one begins and the other ends, in either direction; with transactions nothing is doubled, either."""
    seed = random_seed()
    chance = random.Random(seed)
    target = (ExactTarget if kind == "exactly-once" else KafkaTarget)(kafka_broker, shop.name)
    pipeline = shop.pipeline(tmp_path, target, **{"snapshot.batch.rows": 100})
    writer = ShopWriter(shop.server, shop.name, shop.journal, seed, accounts=1000, pause=0.01)
    known = shop.journal.lengths()
    assert pipeline.run("--once", seconds=SECONDS).code == 0
    switches = ["to Spark", "back"] * (10 if nightly else 1)
    chance.shuffle(switches)
    with writer:
        for switch in switches:
            with pipeline.running() as process:
                await_spark(process)
                if switch == "back":
                    with held(writer):
                        await_tail(process)
                time.sleep(chance.uniform(0, 1.5))
                process.kill()
    assert pipeline.run("--once", seconds=SECONDS).code == 0
    delivered = target.delivered()
    if kind == "exactly-once":
        assert_each_once(delivered, shop.journal, defaultdict(int, known))
    else:
        assert_complete(shop.journal.changes(), without_repeats(delivered), defaultdict(int, known))
