"""Exactly-once to Kafka: pipelines and their broker are killed, and each change is seen once where it is committed."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from crash.kills import ROWS, Kills
from crash.proof import assert_each_once
from crash.targets import ExactTarget
from testkit.journal import Journal
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.kafka import QUICK_TO_BELIEVE_IN_DEATH, KafkaBroker
from testkit.servers.mysql import MySQLServer
from testkit.writers import TABLES, BulkWriter, ShopWriter


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    """A broker of the test's own, to be killed."""
    with KafkaBroker().start(**QUICK_TO_BELIEVE_IN_DEATH) as broker:
        yield broker


@pytest.mark.timeout(3600)
def test_every_change_is_seen_once_and_in_order(
    mysql_server: MySQLServer,
    broker: KafkaBroker,
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    afterwards: ExitStack,
) -> None:
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    chance = random.Random(seed)
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; {TABLES}")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    create_reader(mysql_server)
    target, journal = ExactTarget(broker, unique_name), Journal()
    source = source_of(mysql_server, unique_name, topic_prefix=unique_name, max_batch_size=300)
    options = {"serializer": {"schemas.enable": False}, "offset.flush.interval.ms": 50}
    kills = Kills(Pipeline(tmp_path, source, target.sink, options), target, journal, chance)
    with ShopWriter(mysql_server, unique_name, journal, seed, accounts=ROWS):
        for _ in range(10 if nightly else 1):
            kills.in_snapshot()
        with BulkWriter(mysql_server, unique_name, journal, seed, rows=2000):
            for _ in range(13 if nightly else 1):
                kills.in_stream()
                kills.in_transaction()
            _kill_broker(kills, broker, times=14 if nightly else 1)
    kills.to_the_end()
    print(f"killed in: {', '.join(kills.killed_in)}")
    assert_each_once(target.delivered(), journal, kills.known)


def _kill_broker(kills: Kills, broker: KafkaBroker, times: int) -> None:
    """Kills the broker under a running pipeline, which goes on when that is back."""
    with kills.pipeline.running() as process:
        for _ in range(times):
            before = kills.target.size()
            process.wait_until(lambda before=before: kills.target.size() > before)  # type: ignore[misc]
            time.sleep(kills.random.uniform(0, 0.5))
            broker.kill()
            broker.start()
        process.kill()


@pytest.mark.timeout(600)
def test_a_pipeline_that_lost_its_state_goes_on_from_the_topic(
    mysql_server: MySQLServer, kafka_broker: KafkaBroker, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    table = f"{unique_name}.t"
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {table} (id INT PRIMARY KEY)")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    mysql_server.execute(f"INSERT INTO {table} VALUES (1)")
    create_reader(mysql_server)
    target = ExactTarget(kafka_broker, unique_name)
    source = source_of(mysql_server, unique_name, topic_prefix=unique_name)
    pipeline = Pipeline(tmp_path, source, target.sink, {"serializer": {"schemas.enable": False}})
    assert pipeline.run("--once").code == 0
    mysql_server.execute(f"INSERT INTO {table} VALUES (2)")
    assert pipeline.run("--once").code == 0
    shutil.rmtree(pipeline.state)
    mysql_server.execute(f"INSERT INTO {table} VALUES (3)")
    ended = pipeline.run("--once", "--set", "source.snapshot.mode=recovery")
    assert ended.code == 0, ended.stderr
    assert "going on from the offset that the sink has" in ended.stderr
    seen = sorted((one.value["after"]["id"], one.value["op"]) for one in target.arrived())
    assert seen == [(1, "r"), (2, "c"), (3, "c")]
    shutil.rmtree(pipeline.state)
    other = Pipeline(tmp_path, {**source, "topic.prefix": "other"}, target.sink, {"name": unique_name})
    refused = other.run("--once")
    assert refused.code == 2, refused.stderr
    assert "topic.prefix" in refused.errors


@pytest.mark.timeout(600)
def test_a_second_process_takes_over_and_the_first_ends(
    mysql_server: MySQLServer, kafka_broker: KafkaBroker, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    table = f"{unique_name}.t"
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {table} (id INT PRIMARY KEY)")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    mysql_server.execute(f"INSERT INTO {table} VALUES (1)")
    create_reader(mysql_server)
    target = ExactTarget(kafka_broker, unique_name)
    source = source_of(mysql_server, unique_name, topic_prefix=unique_name)
    options = {"serializer": {"schemas.enable": False}, "offset.flush.interval.ms": 20}
    folders = tmp_path / "first", tmp_path / "second"
    folders[0].mkdir()
    pipeline = Pipeline(folders[0], source, target.sink, options)
    assert pipeline.run("--once").code == 0
    shutil.copytree(folders[0], folders[1])
    with pipeline.running() as first, Pipeline(folders[1], source, target.sink, options).running() as second:
        mysql_server.execute(f"INSERT INTO {table} VALUES (2)")
        deadline = time.monotonic() + 120
        while first.process.poll() is None and second.process.poll() is None:
            assert time.monotonic() < deadline, "both go on"
            mysql_server.execute(f"INSERT INTO {table} SELECT MAX(id) + 1 FROM {table}")
            time.sleep(0.2)
        fenced, other = (first, second) if first.process.poll() is not None else (second, first)
        ended = fenced.ended()
        assert ended.code == 4, ended.stderr
        assert f"another process writes with the transactional id 'cdckit-{unique_name}'" in ended.errors
        stopped = other.stop()
        assert stopped.code in (0, 4), stopped.stderr  # Kafka may be too busy to take the end of its last transaction
    assert pipeline.run("--once").code == 0
    rows = sorted(one.value["after"]["id"] for one in target.arrived())
    assert rows == list(range(1, mysql_server.execute(f"SELECT COUNT(*) FROM {table}")[0][0] + 1))
