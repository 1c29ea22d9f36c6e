"""What a pipeline writes to Kafka, Debezium's JDBC sink writes on into a database: all header converters, and Avro."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from pages.page import Page
from testkit.servers.apicurio_serdes import apicurio_jars
from testkit.servers.connect import ConnectWorker
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer
from testkit.servers.schema_registry import SchemaRegistry

_STRING = "org.apache.kafka.connect.storage.StringConverter"
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_APICURIO = "io.apicurio.registry.utils.converter.AvroConverter"
_SECONDS = 120.0

TABLES = ("orders", "lines")
OF_SEVERAL_TYPES = "parts"
"""A table whose key has several types: by `SimpleHeaderConverter` the sink cannot read that such a key has changed."""
BEFORE = """
    CREATE TABLE orders (
        id BIGINT PRIMARY KEY, who VARCHAR(40) NOT NULL, price DECIMAL(30, 3), state ENUM('new', 'paid'), more TEXT
    );
    CREATE TABLE `lines` (
        order_id BIGINT, number INT, what VARCHAR(40), weight DOUBLE, PRIMARY KEY (order_id, number)
    );
    CREATE TABLE parts (id INT, code VARCHAR(20), what TEXT, weight FLOAT, PRIMARY KEY (id, code));
    INSERT INTO parts VALUES (1, 'a', 'x', 1.5), (1, '"b"\\\\', '', 0), (2, 'a', NULL, NULL);
    INSERT INTO orders VALUES (1, 'Ann', 12.345, 'new', NULL), (2, 'Bob "B" é\\n', NULL, NULL, '{}'),
        (3, 'Cy', -0.001, 'paid', ''), (5, 'Di', 123456789012345678901234567.125, 'new', 'x');
    INSERT INTO `lines` VALUES (1, 1, 'a', 0.1), (1, 2, 'b', NULL), (5000000000, 1, 'c', -1e300);
"""
AFTER = """
    UPDATE orders SET state = 'paid', more = 'y' WHERE id = 1;
    INSERT INTO orders VALUES (4, 'Eve', 1, 'new', 'z');
    DELETE FROM orders WHERE id = 3;
    UPDATE orders SET id = 6000000000 WHERE id = 2;
    UPDATE `lines` SET number = 300 WHERE order_id = 1 AND number = 2;
    DELETE FROM `lines` WHERE order_id = 5000000000;
    UPDATE parts SET code = 'c"' WHERE code <> 'a';
    UPDATE parts SET id = 70000 WHERE id = 2;
    ALTER TABLE orders ADD COLUMN added VARCHAR(20) AFTER id;
    INSERT INTO orders VALUES (7, 'here', 'Fay', 2.5, 'paid', NULL);
    UPDATE orders SET added = 'there' WHERE id = 5;
    UPDATE orders SET id = 70 WHERE id = 7;
"""


@dataclass(frozen=True)
class Sink:
    """A connector.

    Attributes:
        name: what the names of its tables begin with.
        options: what it is told of converters.
        tables: those of the source that it writes.
    """

    name: str
    options: Mapping[str, str]
    tables: Sequence[str] = (*TABLES, OF_SEVERAL_TYPES)


@dataclass(frozen=True)
class Capture:
    """A connector's configuration, and who reads what it writes.

    Attributes:
        name: what its topics begin with, behind the database's name.
        options: what it is told of converters.
        sinks: they read its topics.
    """

    name: str
    options: Mapping[str, str]
    sinks: Sequence[Sink]


CAPTURES = (
    Capture("plain", {}, (Sink("simple", {}, TABLES), Sink("string", {"header.converter": _STRING}))),
    Capture("typed", {"header.converter": _JSON}, (Sink("json", {"header.converter": _JSON}),)),
)


def avro_captures(registry: SchemaRegistry) -> tuple[Capture, ...]:
    """Those in Avro: as Confluent's converter writes it, and as Apicurio's; Apicurio's reads both, as the docs say."""
    own = {"apicurio.registry.url": f"http://{registry.host}:{registry.port}/apis/registry/v2"}
    [block] = Page("downstream.md", Path()).blocks("properties", "Kafka Connect: Debezium's JDBC sink")
    read = dict(line.removeprefix("value.converter").split("=", 1) for line in block.splitlines())
    assert read.pop("") == _APICURIO
    read = {name.removeprefix("."): value for name, value in read.items()} | own
    writes_own = both(_APICURIO, {**own, "apicurio.registry.auto-register": "true"})
    names = {"schema.name.adjustment.mode": "avro"}
    return (
        Capture(
            "confluent",
            {**names, **both("io.confluent.connect.avro.AvroConverter", {"schema.registry.url": registry.url})},
            (Sink("confluent", both(_APICURIO, read), TABLES),),
        ),
        Capture("apicurio", {**names, **writes_own}, (Sink("apicurio", both(_APICURIO, own), TABLES),)),
    )


def both(converter: str, options: Mapping[str, str]) -> dict[str, str]:
    """What a connector is told of the converter of its keys and values."""
    made = {}
    for part in ("key", "value"):
        made[f"{part}.converter"] = converter
        made |= {f"{part}.converter.{option}": value for option, value in options.items()}
    return made


@dataclass(frozen=True)
class Journey:
    """From a database of MySQL over Kafka into one of MariaDB.

    Attributes:
        name: of the databases, and the connectors.
        folder: has the pipelines' files.
    """

    name: str
    folder: Path
    source: MySQLServer
    broker: KafkaBroker
    worker: ConnectWorker
    target: MariaDBServer

    def travel(self, captures: Sequence[Capture]) -> None:
        """What the source's tables hold, the tables of each capture's sinks come to hold; before changes, and after."""
        self.capture_all(captures)
        for capture in captures:
            for sink in capture.sinks:
                self.deliver(f"{self.name}-{capture.name}", sink)
        sinks = [sink for capture in captures for sink in capture.sinks]
        for sink in sinks:
            self.assert_arrives(sink)
        self.source.run_sql(AFTER, database=self.name)
        self.capture_all(captures)
        for sink in sinks:
            self.assert_arrives(sink)
            self.worker.delete(f"{self.name}-{sink.name}")

    def capture_all(self, captures: Sequence[Capture]) -> None:
        """Runs each capture as far as the source goes."""
        for capture in captures:
            self.capture(f"{self.name}-{capture.name}", capture.options)

    def capture(self, prefix: str, options: Mapping[str, str]) -> None:
        """Runs a connector's configuration against Kafka as far as the source goes."""
        config = {
            "connector.class": "io.debezium.connector.mysql.MySqlConnector",
            "topic.prefix": prefix,
            "database.hostname": self.source.host,
            "database.port": str(self.source.port),
            "database.user": "dbz",
            "database.password": "dbz",
            "database.include.list": self.name,
            "include.schema.changes": "false",
            **options,
        }
        path = self.folder / f"{prefix}.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in config.items()))
        settings = [f"sink.bootstrap.servers={self.broker.bootstrap}", f"state={self.folder / prefix}"]
        DirectRunner(load_pipeline(path, settings, runner="direct", sink="kafka")).run(once=True)

    def deliver(self, prefix: str, sink: Sink) -> None:
        """Starts a sink of a capture's topics."""
        config = {
            "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
            "tasks.max": "1",
            "topics": ",".join(f"{prefix}.{self.name}.{table}" for table in sink.tables),
            "connection.url": f"jdbc:mariadb://{self.target.host}:{self.target.port}/{self.name}",
            "connection.username": self.name,
            "connection.password": "dbz",
            "insert.mode": "upsert",
            "delete.enabled": "true",
            "primary.key.mode": "record_key",
            "schema.evolution": "basic",
            "collection.name.format": f"{sink.name}_${{source.table}}",
            **sink.options,
        }
        self.worker.create(f"{self.name}-{sink.name}", config)

    def assert_arrives(self, sink: Sink) -> None:
        """What the source's tables hold, the sink's tables come to hold; the sink does not fail."""
        deadline = time.monotonic() + _SECONDS
        for table in sink.tables:
            expected = self._rows(self.source, table)
            while (shown := self._rows(self.target, f"{sink.name}_{table}")) != expected:
                assert not (failure := self.worker.failure(f"{self.name}-{sink.name}")), failure
                assert time.monotonic() < deadline, (table, expected, shown)
                time.sleep(0.2)

    def _rows(self, server: SQLServer, table: str) -> tuple[list[str], Sequence[object]]:
        """A table's columns and rows, in an order that tells nothing of how they came; none where it is not there."""
        where = f"table_schema = '{self.name}' AND table_name = '{table}'"
        found = server.execute(f"SELECT column_name FROM information_schema.columns WHERE {where}")
        names = sorted(name for (name,) in found)
        order = f"SELECT {', '.join(names)} FROM {self.name}.`{table}` ORDER BY 1, 2, 3, 4"
        return names, server.execute(order) if names else ()


@pytest.fixture(scope="module")
def worker(kafka_broker: KafkaBroker) -> Iterator[ConnectWorker]:
    """A Connect worker without connectors, which has Apicurio's converters."""
    with ConnectWorker(kafka_broker.bootstrap, {_APICURIO: apicurio_jars()[0].parent}) as made:
        yield made


@pytest.fixture
def journey(
    mysql_server: MySQLServer,
    kafka_broker: KafkaBroker,
    worker: ConnectWorker,
    mariadb_server: MariaDBServer,
    unique_name: str,
    tmp_path: Path,
) -> Iterator[Journey]:
    """A source with rows, and a target without tables."""
    mysql_server.execute(f"CREATE DATABASE {unique_name}")
    mysql_server.run_sql(BEFORE, database=unique_name)
    mariadb_server.execute(f"CREATE DATABASE {unique_name} CHARACTER SET utf8mb4")
    mariadb_server.create_user(unique_name, "dbz", ["ALL"])
    yield Journey(unique_name, tmp_path, mysql_server, kafka_broker, worker, mariadb_server)
    mysql_server.execute(f"DROP DATABASE {unique_name}")
    mariadb_server.execute(f"DROP DATABASE {unique_name}")
    mariadb_server.execute(f"DROP USER {unique_name}")


def test_every_header_converter_reads_the_records(journey: Journey) -> None:
    """Inserts, updates, deletes, changed keys and an added column; as plain text twice, and as JSON."""
    journey.travel(CAPTURES)


@pytest.mark.nightly
def test_avro_is_read(journey: Journey, schema_registry: SchemaRegistry) -> None:
    """The same, in Avro; a table's schema changes on the way, and the registry has both."""
    journey.travel(avro_captures(schema_registry))
    versions = f"/subjects/{journey.name}-confluent.{journey.name}.orders-value/versions"
    assert schema_registry.get(versions) == b"[1,2]"
