"""What a pipeline writes to Kafka, Debezium's own JDBC sink writes on into a database: by every header converter."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from testkit.servers.connect import ConnectWorker
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

_STRING = "org.apache.kafka.connect.storage.StringConverter"
_JSON = "org.apache.kafka.connect.json.JsonConverter"
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
        options: what it is told of headers.
        tables: those of the source that it writes.
    """

    name: str
    options: Mapping[str, str]
    tables: Sequence[str] = (*TABLES, OF_SEVERAL_TYPES)


SINKS = {
    "plain": (Sink("simple", {}, TABLES), Sink("string", {"header.converter": _STRING})),
    "typed": (Sink("json", {"header.converter": _JSON}),),
}
"""The sinks of each capture."""
CAPTURES: Mapping[str, Mapping[str, str]] = {"plain": {}, "typed": {"header.converter": _JSON}}
"""What each capture is told of headers."""


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

    def capture_all(self) -> None:
        """Runs each capture as far as the source goes."""
        for name, options in CAPTURES.items():
            self.capture(f"{self.name}-{name}", options)

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
    """A Connect worker without connectors."""
    with ConnectWorker(kafka_broker.bootstrap) as made:
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
    sinks = [(f"{journey.name}-{capture}", sink) for capture, sinks in SINKS.items() for sink in sinks]
    journey.capture_all()
    for prefix, sink in sinks:
        journey.deliver(prefix, sink)
    for _, sink in sinks:
        journey.assert_arrives(sink)
    journey.source.run_sql(AFTER, database=journey.name)
    journey.capture_all()
    for _, sink in sinks:
        journey.assert_arrives(sink)
        journey.worker.delete(f"{journey.name}-{sink.name}")
