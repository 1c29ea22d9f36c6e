"""Tables kept from topics that others fill: TiCDC's, and those in Debezium's format."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.spark import SparkRunner
from cdckit_ticdc.message import Message
from cdckit_ticdc.reading.lines import read_line
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer
from ticdc.emulation import Emulator, make_history
from ticdc.recordings import DATA, lines

pytestmark = pytest.mark.spark


@dataclass(frozen=True, slots=True)
class Mirror:
    """A topic, and the tables that a pipeline keeps of it."""

    session: SparkSession
    broker: KafkaBroker
    topic: str
    folder: Path

    def produce(self, messages: Iterable[Message]) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "linger.ms": 1})
        for message in messages:
            producer.produce(self.topic, message.value, message.key, message.partition)
        producer.flush()

    def run(self, **source: Any) -> None:
        path = self.folder / "mirror.yaml"
        pipeline = {
            "name": self.topic,
            "runner": "spark",
            "source": {"bootstrap.servers": self.broker.bootstrap, "topics": [self.topic], **source},
            "sink": {"type": "spark", "mode": "mirror", "path": str(self.folder / "lake")},
            "state": str(self.folder / "state"),
        }
        path.write_text(json.dumps(pipeline))
        SparkRunner(load_pipeline(path)).run(once=True)

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        frame = self.session.read.format("delta").load(str(self.folder / "lake" / table))
        return sorted((tuple(row) for row in frame.select(*columns).collect()), key=repr)


@pytest.fixture
def mirror(session: SparkSession, kafka_broker: KafkaBroker, unique_name: str, tmp_path: Path) -> Mirror:
    kafka_broker.create_topic(unique_name, 3)
    return Mirror(session, kafka_broker, unique_name, tmp_path)


def test_mirror_of_ticdc_equals_the_table(mirror: Mirror) -> None:
    """A split for each partition; rows that come again and rows that change partitions with their key."""
    chance = random.Random(11)
    history = make_history(chance, 200, keys=20)
    log = Emulator(chance, split_updates=False).write(history)
    halves = {partition: len(messages) // 2 for partition, messages in log.items()}
    mirror.produce(message for one, messages in log.items() for message in messages[: halves[one]])
    mirror.run(type="ticdc", protocol="debezium")
    mirror.produce(message for one, messages in log.items() for message in messages[halves[one] :])
    mirror.run(type="ticdc", protocol="debezium")
    expected = [(key, row["v"]) for key, row in sorted(history.final.items())]
    assert sorted(mirror.rows("default.shop.orders", "id", "v")) == expected


def _event(op: str, after: dict[str, Any], fields: list[dict[str, Any]]) -> bytes:
    """A change event of a cloud's MySQL subscription, with its schema."""
    row = {"type": "struct", "fields": fields, "optional": True, "name": "sub.shop.people.Value"}
    source = {"type": "struct", "optional": False, "field": "source", "fields": [
        {"type": "string", "optional": False, "field": "db"}, {"type": "string", "optional": True, "field": "table"},
    ]}  # fmt: skip
    schema = {"type": "struct", "optional": False, "name": "sub.shop.people.Envelope", "fields": [
        {**row, "field": "before"}, {**row, "field": "after"}, source,
        {"type": "string", "optional": False, "field": "op"}, {"type": "int64", "optional": True, "field": "ts_ms"},
    ]}  # fmt: skip
    payload = {"before": None, "after": after, "source": {"db": "shop", "table": "people"}, "op": op, "ts_ms": 1}
    return json.dumps({"schema": schema, "payload": payload}).encode()


def _key(number: int) -> bytes:
    schema = {"type": "struct", "fields": [{"type": "int32", "optional": False, "field": "id"}], "optional": False,
              "name": "sub.shop.people.Key"}  # fmt: skip
    return json.dumps({"schema": schema, "payload": {"id": number}}).encode()


ID = {"type": "int32", "optional": False, "field": "id"}
NAME = {"type": "string", "optional": True, "field": "name"}
CITY = {"type": "string", "optional": True, "field": "city"}
DDL = json.dumps(
    {
        "source": {"server": "sub"},
        "position": {"transaction_id": None, "ts_sec": 1655782153, "file": "mysql-bin.000005", "pos": 1218},
        "databaseName": "shop",
        "ddl": "ALTER TABLE `people` ADD COLUMN `city` varchar(20) NULL",
        "tableChanges": [],
    }
).encode()


def test_ddl_in_the_topic_and_an_added_column(mirror: Mirror) -> None:
    """Rows and DDL share the topic; a column that a later row brings is added to the table."""
    people = [(1, {"id": 1, "name": "ann"}, [ID, NAME]), (2, {"id": 2, "name": "bob"}, [ID, NAME])]
    mirror.produce(Message("", 0, 0, _key(number), _event("c", row, fields)) for number, row, fields in people)
    mirror.run(type="debezium")
    mirror.produce([
        Message("", 0, 0, None, DDL),
        Message("", 0, 0, _key(1), _event("u", {"id": 1, "name": "ann", "city": "york"}, [ID, NAME, CITY])),
    ])  # fmt: skip
    mirror.run(type="debezium")
    assert mirror.rows(mirror.topic, "id", "name", "city") == [(1, "ann", "york"), (2, "bob", None)]


@pytest.mark.nightly
def test_a_column_that_is_added_reaches_each_partition_at_its_own_offset(mirror: Mirror) -> None:
    """Offsets of different partitions say nothing about each other: old rows behind new ones are no column gone."""
    old, new = [ID, NAME], [ID, NAME, CITY]
    mirror.produce([
        *(Message("", 0, 0, _key(1), _event("u", {"id": 1, "name": f"ann{n}"}, old)) for n in range(3)),
        Message("", 0, 0, _key(1), _event("u", {"id": 1, "name": "ann", "city": "york"}, new)),
        Message("", 1, 0, _key(2), _event("c", {"id": 2, "name": "bob", "city": "bath"}, new)),
        *(Message("", 2, 0, _key(3), _event("u", {"id": 3, "name": f"cid{n}"}, old)) for n in range(6)),
    ])  # fmt: skip
    mirror.run(type="debezium")
    rows = [(1, "ann", "york"), (2, "bob", "bath"), (3, "cid5", None)]
    assert mirror.rows(mirror.topic, "id", "name", "city") == rows
    mirror.produce([
        Message("", 2, 0, _key(3), _event("u", {"id": 3, "name": "cid"}, old)),
        Message("", 2, 0, _key(4), _event("c", {"id": 4, "name": "dan", "city": "rome"}, new)),
    ])  # fmt: skip
    mirror.run(type="debezium")
    assert mirror.rows(mirror.topic, "id", "name", "city") == [*rows[:2], (3, "cid", None), (4, "dan", "rome")]
    mirror.produce([Message("", 2, 0, _key(4), _event("u", {"id": 4, "name": "dan"}, old))])
    mirror.run(type="debezium")
    assert mirror.rows(mirror.topic, "id", "name", "city") == [*rows[:2], (3, "cid", None), (4, "dan", None)]


def test_deletes_without_times_count(mirror: Mirror) -> None:
    """TiCDC's avro tells no time of a delete: within a partition what comes last is the newest."""
    recorded = [line.message for line in lines("avro", "composite_pk")]
    mirror.produce(message._replace(partition=1) for message in recorded)
    mirror.run(type="ticdc", protocol="avro", **{"schema.registry.url": str(DATA / "avro" / "schema-registry.json")})
    assert [row[1:] for row in mirror.rows("default.test.composite_pk", "seq", "tenant", "v")] == [("acme", "max")]


RECORDED = Path(__file__).parents[1] / "data" / "debezium"


def _recorded(scenario: str) -> Iterator[Message]:
    """The messages of a recording, up to the insert before the script's last line, which leaves a table empty."""
    for name in ("snapshot", "stream"):
        for line in (RECORDED / "mysql97-mysql-3.6.3" / scenario / f"{name}.jsonl").read_bytes().splitlines():
            yield read_line(line, name, 0)
            if line.startswith(b'{"topic":"g.g_dml.empty_t"'):
                return


def test_mirror_of_what_debezium_wrote_equals_the_tables(
    mirror: Mirror, mysql_server: MySQLServer, unique_name: str
) -> None:
    """Debezium's recorded messages fill the topics, and the scripts that were recorded the database."""
    topics: dict[str, list[Message]] = {}
    for message in _recorded("dml-schema"):
        if message.topic.startswith("g.g_dml."):
            topics.setdefault(message.topic.replace("g.g_dml", unique_name), []).append(message)
    for topic, messages in topics.items():
        mirror.broker.create_topic(topic)
        replace(mirror, topic=topic).produce(messages)
    mirror.run(type="debezium", topics=[f"^{unique_name}[.].*"])
    scripts = [(RECORDED / "sql" / f"dml.{part}.sql").read_text() for part in ("setup", "stream")]
    mysql_server.run_sql("".join(scripts).replace("g_dml", unique_name).replace("DELETE FROM customers;", ""))
    for table, columns in {"customers": "id, first_name, last_name, email", "cpk": "k1, k2, v", "uk": "u, v"}.items():
        found = mirror.rows(f"{unique_name}.{table}", *columns.split(", "))
        assert found == sorted(mysql_server.execute(f"SELECT {columns} FROM {unique_name}.{table}"), key=repr), table
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def test_a_column_that_goes_away_stays_in_the_table(mirror: Mirror) -> None:
    """Nobody says that it is gone: a row of before may come again behind those that lack it."""
    mirror.produce([Message("", 0, 0, _key(1), _event("c", {"id": 1, "name": "ann"}, [ID, NAME]))])
    mirror.run(type="debezium")
    mirror.produce([Message("", 0, 0, _key(1), _event("u", {"id": 1}, [ID]))])
    mirror.run(type="debezium")
    assert mirror.rows(mirror.topic, "id", "name") == [(1, None)]


def test_mysql_through_kafka_equals_the_table(
    mirror: Mirror, mysql_server: MySQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    """The `mysql` source fills topics, `debezium` reads them, and the mirror is the table."""
    database = f"{unique_name}_db"
    mysql_server.execute(f"CREATE DATABASE {database}")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {database}")
    mysql_server.execute(
        f"CREATE TABLE {database}.goods (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(10,2), seen DATETIME(3))"
    )
    mysql_server.execute(
        f"INSERT INTO {database}.goods VALUES (1,'a',1.50,'2024-01-02 03:04:05.678'),(2,'b',NULL,NULL)"
    )
    path = tmp_path / "fill.yaml"
    pipeline = {
        "name": "fill",
        "runner": "direct",
        "source": {
            "type": "mysql", "database.hostname": mysql_server.host, "database.port": mysql_server.port,
            "database.user": "dbz", "database.password": "dbz", "topic.prefix": unique_name,
            "database.include.list": database,
        },
        "sink": {"type": "kafka", "bootstrap.servers": mirror.broker.bootstrap},
        "state": str(tmp_path / "fill-state"),
    }  # fmt: skip
    path.write_text(json.dumps(pipeline))
    DirectRunner(load_pipeline(path)).run(once=True)
    mysql_server.execute(f"UPDATE {database}.goods SET price = 2.25 WHERE id = 2")
    mysql_server.execute(f"DELETE FROM {database}.goods WHERE id = 1")
    mysql_server.execute(f"INSERT INTO {database}.goods VALUES (3,'c',0.01,'1999-12-31 23:59:59')")
    DirectRunner(load_pipeline(path)).run(once=True)
    topic = f"{unique_name}.{database}.goods"
    mirror.run(type="debezium", topics=[topic])
    found = [(number, name, str(price), str(seen)) for number, name, price, seen in
             mirror.rows(topic, "id", "name", "price", "seen")]  # fmt: skip
    assert found == [(2, "b", "2.25", "None"), (3, "c", "0.01", "1999-12-31 23:59:59")]
