"""Pipelines whose line to a schema registry, to signals or to the history's topic may fall silent."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from confluent_kafka import Producer

from bad_input.lines import HOST, Line, ids
from testkit.running import create_reader, source_of, to_file
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql_family import SQLServer
from testkit.servers.proxy import CuttingProxy
from testkit.servers.schema_registry import SchemaRegistry
from ticdc.connect_avro import ConnectAvro
from ticdc.test_registry import documents

SIGNAL = re.compile(r"number (\d+) was told")


class _Registry(ThreadingHTTPServer):
    """A schema registry: what it is given it keeps in memory."""

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Answer)
        self.schemas: list[Any] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def register(self, _subject: str, schema: Any) -> int:
        self.schemas.append(schema)
        return len(self.schemas) - 1


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        schemas = cast(_Registry, self.server).schemas
        body = json.dumps({"schema": json.dumps(schemas[int(self.path.rpartition("/")[2])])}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *_args: object) -> None:
        pass


def registry_line(broker: KafkaBroker, topic: str, folder: Path, *, patience_ms: int) -> Iterator[Line]:
    """A topic of Avro messages, each with schemas of its own."""
    broker.create_topic(topic)
    producer, registry = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0}), _Registry()
    recorded = next(one for one in documents("mysql97-mysql-3.6.3", "dml-schema") if "customers" in one["topic"])

    def write(number: int) -> None:
        avro = ConnectAvro(cast(SchemaRegistry, registry))
        key, value = recorded["key"], recorded["value"]
        key["payload"]["id"] = value["payload"]["after"]["id"] = number
        producer.produce(topic, avro.write("value", value), avro.write("key", key))
        producer.flush()

    with CuttingProxy(registry.server_port) as proxy:
        source = {
            "type": "debezium",
            "bootstrap.servers": broker.bootstrap,
            "topics": [topic],
            "schema.registry.url": f"http://{HOST}:{proxy.port}",
            "request.timeout.ms": patience_ms,
        }
        made = to_file(folder, source)
        yield Line(proxy, made, write, lambda: ids(made))
    registry.shutdown()


def signals_line(
    broker: KafkaBroker, proxy: CuttingProxy, server: SQLServer, database: str, folder: Path, *, patience_ms: int
) -> Iterator[Line]:
    """The topic of the signal channel `kafka`; what comes are signals that are logged."""
    create_reader(server)
    broker.create_topic(database)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})

    def write(number: int) -> None:
        told = {"id": str(number), "type": "log", "data": {"message": f"number {number} was told"}}
        producer.produce(database, json.dumps(told), "p")
        producer.flush()

    options = {
        "signal.enabled.channels": "kafka",
        "signal.poll.interval.ms": 100,
        "signal.kafka.bootstrap.servers": f"{HOST}:{proxy.port}",
        "signal.kafka.topic": database,
        "signal.kafka.groupId": database,
        "signal.consumer.socket.timeout.ms": patience_ms,
        "signal.consumer.reconnect.backoff.max.ms": 200,
        "signal.consumer.fetch.wait.max.ms": 100,
        "signal.consumer.offset.commit.enabled": "true",
    }
    made = to_file(folder, {**source_of(server, database), **options})
    log = made.folder / "stderr.log"
    yield Line(proxy, made, write, lambda: [int(number) for number in SIGNAL.findall(log.read_text())])


def history_line(
    broker: KafkaBroker, proxy: CuttingProxy, server: SQLServer, database: str, folder: Path, *, patience_ms: int
) -> Iterator[Line]:
    """The topic of the schema history; each change comes with a definition."""
    create_reader(server)
    server.execute("CREATE TABLE t (id INT PRIMARY KEY)", database=database)

    def write(number: int) -> None:
        script = f"ALTER TABLE t COMMENT '{'x' * 100}{number}'; INSERT INTO t VALUES ({number})"
        server.run_sql(script, database=database)

    options = {
        "schema.history.internal": "kafka",
        "schema.history.internal.kafka.bootstrap.servers": f"{HOST}:{proxy.port}",
        "schema.history.internal.kafka.topic": f"{database}-history",
        "schema.history.internal.kafka.query.timeout.ms": patience_ms,
        "schema.history.internal.kafka.create.timeout.ms": patience_ms,
        "schema.history.internal.store.only.captured.databases.ddl": True,
    }
    made = to_file(folder, {**source_of(server, database), **options})
    yield Line(proxy, made, write, lambda: ids(made))
