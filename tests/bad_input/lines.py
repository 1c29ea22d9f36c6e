"""Pipelines whose line to one server goes through a proxy that may fall silent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from testkit.running import Pipeline, create_reader, source_of, to_file
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql_family import SQLServer
from testkit.servers.ports import free_port
from testkit.servers.proxy import CuttingProxy

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Line:
    """A pipeline and its line.

    Attributes:
        proxy: what falls silent.
        pipeline: what notices.
        write: makes a change with a number; numbers grow.
        delivered: which numbers have come, in order.
    """

    proxy: CuttingProxy
    pipeline: Pipeline
    write: Callable[[int], None]
    delivered: Callable[[], list[int]]


def sql_line(server: SQLServer, database: str, folder: Path, *, patience_ms: int) -> Iterator[Line]:
    """A server of the MySQL family."""
    create_reader(server)
    server.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200))", database=database)
    with CuttingProxy(server.port) as proxy:
        made = to_file(
            folder,
            source_of(
                server,
                database,
                database_port=proxy.port,
                connect_timeout_ms=patience_ms,
                database_query_timeout_ms=patience_ms,
                connect_keep_alive_interval_ms=patience_ms,
                retriable_restart_connector_wait_ms=100,
            ),
        )
        yield Line(proxy, made, _inserts(server, database), lambda: ids(made))


def mongodb_line(replica_set: MongoReplicaSet, database: str, folder: Path, *, patience_ms: int) -> Iterator[Line]:
    """MongoDB."""
    collection = replica_set.client()[database]["t"]

    def write(number: int) -> None:
        collection.insert_one({"_id": number, "v": "x" * 200})

    with CuttingProxy(replica_set.primary().port) as proxy:
        source = {
            "type": "mongodb",
            "topic.prefix": "p",
            "mongodb.connection.string": f"mongodb://{HOST}:{proxy.port}/?directConnection=true",
            "database.include.list": database,
            "mongodb.connect.timeout.ms": patience_ms,
            "mongodb.socket.timeout.ms": patience_ms,
            "mongodb.server.selection.timeout.ms": patience_ms,
            "connect.backoff.initial.delay.ms": 100,
            "connect.backoff.max.delay.ms": 100,
        }
        made = to_file(folder, source)
        yield Line(proxy, made, write, lambda: ids(made))


@contextmanager
def proxied_broker() -> Iterator[tuple[KafkaBroker, CuttingProxy]]:
    """A broker, and a proxy that it tells clients to come by who come by it."""
    hidden, controller = free_port(), free_port()
    broker = KafkaBroker()
    with CuttingProxy(hidden) as proxy:
        plain = f"PLAINTEXT://{HOST}:{broker.port}"
        broker.start(
            listeners=f"{plain},PROXY://{HOST}:{hidden},CONTROLLER://{HOST}:{controller}",
            advertised_listeners=f"{plain},PROXY://{HOST}:{proxy.port}",
            controller_quorum_voters=f"1@{HOST}:{controller}",
            listener_security_protocol_map="PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXY:PLAINTEXT",
        )
        with broker:
            yield broker, proxy


def topic_line(
    broker: KafkaBroker, proxy: CuttingProxy, topic: str, folder: Path, *, patience_ms: int
) -> Iterator[Line]:
    """A topic of Debezium's messages."""
    broker.create_topic(topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})

    def write(number: int) -> None:
        producer.produce(topic, json.dumps(_change(number)), json.dumps({"id": number}))
        producer.flush()

    source = {
        "type": "debezium",
        "bootstrap.servers": f"{HOST}:{proxy.port}",
        "topics": [topic],
        "request.timeout.ms": patience_ms,
    }
    made = to_file(folder, source)
    yield Line(proxy, made, write, lambda: ids(made))


def sink_line(
    broker: KafkaBroker, proxy: CuttingProxy, server: SQLServer, database: str, folder: Path, *, patience_ms: int
) -> Iterator[Line]:
    """A sink that writes to Kafka."""
    create_reader(server)
    server.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200))", database=database)
    topic = f"p.{database}.t"
    sink = {
        "type": "kafka",
        "bootstrap.servers": f"{HOST}:{proxy.port}",
        "kafka.socket.timeout.ms": patience_ms,
        "kafka.reconnect.backoff.max.ms": 200,
    }
    made = Pipeline(folder, source_of(server, database), sink, {"serializer": {"schemas.enable": False}})

    def delivered() -> list[int]:
        if topic not in broker.topics():
            return []
        return [json.loads(message.key() or b"null")["id"] for message in broker.messages(topic)]

    yield Line(proxy, made, _inserts(server, database), delivered)


def _inserts(server: SQLServer, database: str) -> Callable[[int], None]:
    return lambda number: void(server.execute(f"INSERT INTO t VALUES ({number}, '{'x' * 200}')", database=database))


def void(_found: object) -> None:
    """Drops what was found."""


def ids(made: Pipeline) -> list[int]:
    """The keys of the events that a pipeline has written."""
    if not made.output.exists():
        return []
    lines = made.output.read_bytes()
    events = [json.loads(line) for line in lines[: lines.rfind(b"\n") + 1].splitlines()]
    return [_number(event["key"]["id"]) for event in events]


def _number(key: Any) -> int:
    return int(key)


def _change(number: int) -> dict[str, Any]:
    source = {"version": "3.6.0", "connector": "mysql", "name": "p", "ts_ms": number, "db": "d", "table": "t"}
    return {"before": None, "after": {"id": number}, "source": source, "op": "c", "ts_ms": number}
