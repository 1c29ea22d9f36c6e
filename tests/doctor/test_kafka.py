"""Topics that lose history are found at the broker, and are found no more once they are set right."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from typing import Any

from confluent_kafka import Producer

from doctor.conftest import NewPatient
from doctor.test_mysql import source
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer


def sink(broker: KafkaBroker) -> dict[str, Any]:
    return {"type": "kafka", "bootstrap.servers": broker.bootstrap}


def test_topics_that_lose_history_are_told(
    kafka_broker: KafkaBroker, mysql_server: MySQLServer, unique_name: str, patient: NewPatient, afterwards: ExitStack
) -> None:
    """One by the prefix, one that a transform has renamed, and none that is another pipeline's."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.orders (id INT PRIMARY KEY);")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    prefix, renamed = f"p{unique_name}", f"{unique_name}_orders"
    kafka_broker.create_topic(f"{prefix}.heartbeats", cleanup_policy="compact")
    kafka_broker.create_topic(renamed, retention_ms="3600000")
    kafka_broker.create_topic(f"{prefix}2.other", cleanup_policy="compact")
    transforms = [
        {"type": "RegexRouter", "regex": rf"{prefix}\.{unique_name}\.(.*)", "replacement": f"{unique_name}_$1"}
    ]
    given = {**source(mysql_server, unique_name), "topic.prefix": prefix}
    made = patient(given, sink=sink(kafka_broker), transforms=transforms)
    code, _ = made.examined()
    found = made.findings()
    assert code == 0
    assert found["CDC1405"]["message"].startswith(f"of {prefix}.heartbeats only the newest event of each key stays")
    assert found["CDC1405"]["remedy"] == (
        f"kafka-configs --bootstrap-server {kafka_broker.bootstrap} --alter --topic {prefix}.heartbeats "
        "--add-config cleanup.policy=delete"
    )
    assert found["CDC1406"]["message"].startswith(f"{renamed}: events are kept for 1 h 00 min")
    kafka_broker.configure_topic(f"{prefix}.heartbeats", cleanup_policy="delete")
    kafka_broker.configure_topic(renamed, retention_ms="604800000")
    assert not {"CDC1405", "CDC1406"} & set(made.findings())
    assert made.told("topics")["message"] == "2 of the pipeline's are there, and keep their events"


def test_a_schema_history_that_loses_records_is_an_error(
    kafka_broker: KafkaBroker, mysql_server: MySQLServer, unique_name: str, patient: NewPatient
) -> None:
    options = {
        "schema.history.internal": "kafka",
        "schema.history.internal.kafka.bootstrap.servers": kafka_broker.bootstrap,
        "schema.history.internal.kafka.topic": unique_name,
    }
    made = patient({**source(mysql_server, unique_name), **options})
    kafka_broker.create_topic(unique_name, cleanup_policy="compact,delete", retention_ms="86400000")
    code, _ = made.examined()
    found = made.findings()["CDC1407"]
    assert (code, found["severity"]) == (3, "fail")
    assert "cleanup.policy=compact,delete, retention.ms=86400000" in found["message"]
    kafka_broker.configure_topic(unique_name, cleanup_policy="delete", retention_ms="-1", retention_bytes="-1")
    assert made.told("schema.history.internal.kafka.topic")["severity"] == "ok"


def produce(broker: KafkaBroker, topic: str, number: int) -> None:
    """A change in Debezium's format."""
    source = {"connector": "mysql", "db": "shop", "table": "t", "ts_ms": 1}
    change = {"before": None, "after": {"id": number}, "source": source, "op": "c", "ts_ms": 1}
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, json.dumps(change).encode(), b"%d" % number)
    producer.flush()


def test_topics_that_are_read_are_forecast(kafka_broker: KafkaBroker, unique_name: str, patient: NewPatient) -> None:
    """The oldest message that waits is deleted when the topic's retention is over."""
    kafka_broker.create_topic(unique_name, retention_ms="1800000")
    given = {"type": "debezium", "bootstrap.servers": kafka_broker.bootstrap, "topics": unique_name}
    made = patient(given)
    produce(kafka_broker, unique_name, 1)
    assert made.run() == 0
    assert "CDC1101" not in made.findings()
    produce(kafka_broker, unique_name, 2)
    found = made.findings()
    assert re.match(
        rf"{unique_name} \[0\], offset 1, is purged in (29 min \d\d s|30 min 00 s) \(retention.ms = 1800000\); ",
        found["CDC1101"]["message"],
    )
    assert found["CDC1101"]["severity"] == "warn"
    assert found["CDC1406"]["part"] == "source"
    kafka_broker.configure_topic(unique_name, retention_ms="604800000")
    assert not {"CDC1101", "CDC1406"} & set(made.findings())
    kafka_broker.configure_topic(unique_name, cleanup_policy="compact")
    assert "CDC1405" in made.findings()
