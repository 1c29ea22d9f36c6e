"""A stop is heard wherever a pipeline waits: for several servers, in several threads, inside a client library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from bad_input.lines import HOST, mongodb_line, proxied_broker, topic_line
from bad_input.side_lines import signals_line
from bad_input.stopping import LONGEST_WAIT, stopped
from cdckit.engine.state.generation import NOTE
from cdckit.engine.state.sqlite import SqliteStateStore
from testkit.running import Running, to_file
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql_family import SQLServer
from testkit.servers.proxy import CuttingProxy

ENDLESS_MS = 240_000
TEXT = "x" * 2000
COLLECTIONS, DOCUMENTS = 4, 500
MESSAGES = 2000


@pytest.fixture(scope="module")
def broker_and_proxy() -> Iterator[tuple[KafkaBroker, CuttingProxy]]:
    """A broker for the tests here."""
    with proxied_broker() as made:
        yield made


def _stops(process: Running) -> None:
    ended, waited = stopped(process)
    assert waited < LONGEST_WAIT, f"waited for {waited:.1f} s:\n{ended.stderr}"
    assert ended.code == 0, ended.stderr


def test_several_members_that_never_answer(mongo: MongoReplicaSet, tmp_path: Path) -> None:
    """Each is watched by threads of the driver's, which it would join one after the other."""
    with ExitStack() as stack:
        proxies = [stack.enter_context(CuttingProxy(mongo.primary().port)) for _ in range(5)]
        for proxy in proxies:
            proxy.silence_after(1)
        hosts = ",".join(f"{HOST}:{proxy.port}" for proxy in proxies)
        options = {"mongodb.connection.string": f"mongodb://{hosts}/?replicaSet=rs", "topic.prefix": "p"}
        with to_file(tmp_path, {"type": "mongodb", **options}).running() as process:
            process.wait_for("no primary")
            process.wait_until(lambda: all(proxy.silent for proxy in proxies))
            _stops(process)


def test_a_snapshot_in_several_threads(mongo: MongoReplicaSet, unique_name: str, tmp_path: Path) -> None:
    database = mongo.client()[unique_name]
    for number in range(COLLECTIONS):
        database[f"c{number}"].insert_many([{"_id": at, "v": TEXT} for at in range(DOCUMENTS)])
    [line] = mongodb_line(mongo, unique_name, tmp_path, patience_ms=ENDLESS_MS)
    made = to_file(tmp_path, {**line.pipeline.source, "snapshot.max.threads": COLLECTIONS, "snapshot.fetch.size": 10})
    with CuttingProxy(mongo.primary().port) as proxy:
        string = f"mongodb://{HOST}:{proxy.port}/?directConnection=true"
        made = to_file(tmp_path, {**made.source, "mongodb.connection.string": string})
        proxy.silence_after(COLLECTIONS * DOCUMENTS * len(TEXT) // 2)
        with made.running() as process:
            process.wait_until(lambda: proxy.silent)
            _stops(process)


def test_a_topic_that_is_read_up_to_its_end(
    broker_and_proxy: tuple[KafkaBroker, CuttingProxy], unique_name: str, tmp_path: Path
) -> None:
    broker, proxy = broker_and_proxy
    made = topic_line(broker, proxy, unique_name, tmp_path, patience_ms=ENDLESS_MS)
    with closing(made):  # type: ignore[type-var]
        line = next(made)
        _produce(broker, unique_name)
        before = proxy.passed
        assert line.pipeline.run("--once").code == 0
        proxy.silence_after((proxy.passed - before) // 2)
        again = to_file(tmp_path / "again", {**line.pipeline.source, "group.id": unique_name})
        again.folder.mkdir()
        try:
            with again.running("--once") as process:
                process.wait_until(lambda: proxy.silent)
                _stops(process)
        finally:
            proxy.cut()
            proxy.mend()


def _produce(broker: KafkaBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(MESSAGES):
        producer.produce(topic, json.dumps({"after": {"id": number, "v": TEXT}, "op": "c", "source": {"table": "t"}}))
    producer.flush()


def test_signals_that_are_waited_for(
    broker_and_proxy: tuple[KafkaBroker, CuttingProxy],
    mysql_server: SQLServer,
    unique_name: str,
    tmp_path: Path,
) -> None:
    broker, proxy = broker_and_proxy
    mysql_server.execute(f"CREATE DATABASE {unique_name}")
    made = signals_line(broker, proxy, mysql_server, unique_name, tmp_path, patience_ms=ENDLESS_MS)
    with closing(made):  # type: ignore[type-var]
        line = next(made)
        pipeline = to_file(tmp_path, {**line.pipeline.source, "signal.kafka.poll.timeout.ms": ENDLESS_MS})
        with pipeline.running() as process:
            line.write(1)
            process.wait_until(lambda: 1 in line.delivered())
            _stops(process)


def test_a_state_that_another_run_holds(mongo: MongoReplicaSet, tmp_path: Path) -> None:
    """What runs on Spark is waited for until it has let go of the state."""
    made = to_file(tmp_path, {"type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": mongo.uri})
    with closing(SqliteStateStore(made.state)) as store:
        store.put(NOTE, {"id": "a", "start": None, "authority": True, "place": ""})
        with made.running() as process:
            process.wait_for("to let go of the state")
            _stops(process)
