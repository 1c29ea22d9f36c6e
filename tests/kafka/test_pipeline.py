"""Whole pipelines from a database to Kafka, by the installed command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka.reading import KafkaRecord, read_topic, read_topics, topic_names
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql_family import SQLServer
from testkit.servers.ports import free_port
from testkit.servers.process import bound_to_parent

_PROGRAM = Path(sys.executable).parent / "cdc"


@dataclass(frozen=True)
class Connector:
    """A connector's configuration as Debezium's users have it, of a database with one table."""

    folder: Path
    server: SQLServer
    database: str

    @property
    def topic(self) -> str:
        return f"{self.database}.{self.database}.t"

    def write(self) -> None:
        kind = "MariaDb" if "MariaDB" in type(self.server).__name__ else "MySql"
        config = {
            "connector.class": f"io.debezium.connector.{kind.lower()}.{kind}Connector",
            "tasks.max": "1",
            "topic.prefix": self.database,
            "database.hostname": self.server.host,
            "database.port": str(self.server.port),
            "database.user": "dbz",
            "database.password": "dbz",
            "database.server.id": str(free_port()),
            "database.include.list": self.database,
            "include.schema.changes": "false",
            "value.converter.schemas.enable": "false",
            "key.converter.schemas.enable": "false",
            "topic.creation.default.partitions": "3",
            "topic.creation.default.replication.factor": "1",
            "topic.creation.default.cleanup.policy": "compact",
            "producer.override.compression.type": "lz4",
            "producer.override.max.block.ms": "60000",
        }
        (self.folder / "connector.json").write_text(json.dumps({"name": "inventory", "config": config}))

    def command(self, sink: str, *settings: str, once: bool = True) -> list[str]:
        return [
            *(str(_PROGRAM), "run", "connector.json", "--runner", "direct", "--sink", sink),
            *(["--once"] if once else []),
            *(part for setting in (f"state=state-{sink}", *settings) for part in ("--set", setting)),
        ]

    def run(self, sink: str, *settings: str) -> subprocess.CompletedProcess[str]:
        command = self.command(sink, *settings)
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)


@pytest.fixture
def connector(db_server: SQLServer, database: str, tmp_path: Path) -> Connector:
    """A table with two rows, and the connector that captures it."""
    db_server.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY, v VARCHAR(20))")
    db_server.execute(f"INSERT INTO {database}.t VALUES (1, 'a'), (2, 'é')")
    made = Connector(tmp_path, db_server, database)
    made.write()
    return made


def test_kafka_gets_what_a_file_gets(kafka_broker: KafkaBroker, connector: Connector) -> None:
    to_kafka = f"sink.bootstrap.servers={kafka_broker.bootstrap}"
    for sink, setting in (("kafka", to_kafka), ("file", "sink.path=out.jsonl")):
        _ok(connector.run(sink, setting))
    table = f"{connector.database}.t"
    connector.server.execute(f"UPDATE {table} SET v = 'b' WHERE id = 1")
    connector.server.execute(f"UPDATE {table} SET id = 3 WHERE id = 2")
    connector.server.execute(f"DELETE FROM {table} WHERE id = 1")
    for sink, setting in (("kafka", to_kafka), ("file", "sink.path=out.jsonl")):
        _ok(connector.run(sink, setting))
    lines = [json.loads(line) for line in (connector.folder / "out.jsonl").read_text().splitlines()]
    expected = [(line["key"], _steady(line["value"])) for line in lines]
    read = read_topic(kafka_broker.bootstrap, connector.topic)
    found = [(_parsed(record.key), _steady(_parsed(record.value))) for record in read]
    for key in ({"id": 1}, {"id": 2}, {"id": 3}):
        assert [value for k, value in found if k == key] == [value for k, value in expected if k == key]
    assert len(found) == len(expected)
    assert len(kafka_broker.admin().list_topics().topics[connector.topic].partitions) == 3
    positions = [record.header("__cdckit.position") for record in read if record.partition == read[0].partition]
    assert positions == sorted(positions, key=lambda position: position or b"")


def test_options_of_a_producer_that_mean_nothing_here_are_one_warning(
    kafka_broker: KafkaBroker, connector: Connector
) -> None:
    done = connector.run("kafka", f"sink.bootstrap.servers={kafka_broker.bootstrap}")
    _ok(done)
    assert done.stderr.count("producer.override.max.block.ms") == 1
    assert "producer.override.compression.type" not in done.stderr


def test_once_ends_with_4_when_nobody_answers(connector: Connector) -> None:
    address = f"127.0.0.1:{free_port()}"
    done = connector.run("kafka", f"sink.bootstrap.servers={address}", "sink.timeout=1")
    assert done.returncode == 4
    assert f"gave up waiting for a Kafka broker to answer ({address})" in " ".join(done.stderr.split())


@pytest.mark.nightly
def test_a_running_pipeline_survives_its_broker(connector: Connector) -> None:
    table = f"{connector.database}.t"
    with KafkaBroker() as broker, _running(connector, broker) as (running, log):
        _until(lambda: len(_records(broker, connector)) == 2, running)
        broker.stop()
        connector.server.execute(f"INSERT INTO {table} VALUES (10, 'x')")
        _until(lambda: "waiting for Kafka to acknowledge records" in log.read_text(), running)
        connector.server.execute(f"UPDATE {table} SET v = 'y' WHERE id = 10")
        broker.start()
        _until(lambda: len(_records(broker, connector)) == 4, running)
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
        changes = [_parsed(record.value) for record in _records(broker, connector) if record.key == b'{"id":10}']
        assert [(change["op"], change["after"]["v"]) for change in changes] == [("c", "x"), ("u", "y")]


@contextmanager
def _running(connector: Connector, broker: KafkaBroker) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    command = connector.command("kafka", f"sink.bootstrap.servers={broker.bootstrap}", once=False)
    path = connector.folder / "run.log"
    with path.open("wb") as log:
        running = subprocess.Popen(
            command,
            cwd=connector.folder,
            stderr=log,
            preexec_fn=bound_to_parent(),  # noqa: PLW1509 - it makes system calls only
        )
        try:
            yield running, path
        finally:
            running.kill()
            running.wait()


def _records(broker: KafkaBroker, connector: Connector) -> list[KafkaRecord]:
    known = topic_names(broker.bootstrap)
    return read_topics(broker.bootstrap, [connector.topic] if connector.topic in known else [])


def _until(holds: Callable[[], bool], running: subprocess.Popen[bytes]) -> None:
    """Waits; the test's own time limit ends it."""
    while not holds():
        assert running.poll() is None
        time.sleep(0.1)


def _parsed(text: bytes | None) -> Any:
    return None if text is None else json.loads(text)


def _steady(value: Any) -> Any:
    """A value without what differs from run to run."""
    if value is None:
        return None
    kept = {name: part for name, part in value.items() if name not in ("ts_ms", "ts_us", "ts_ns")}
    return {**kept, "source": {name: part for name, part in value["source"].items() if not name.startswith("ts_")}}


def _ok(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr
