"""`cdc diff` against Kafka's topics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from proof.shop import change, deliver, fill, piped, proved
from testkit.running import Pipeline
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer

pytestmark = pytest.mark.parametrize("db_server", ["mysql"], indirect=True)


@pytest.fixture
def pipeline(db_server: MySQLServer, database: str, kafka_broker: KafkaBroker, tmp_path: Path) -> Pipeline:
    """A pipeline whose topic has three partitions, and all rows."""
    fill(db_server, database, 100)
    sink = {"type": "kafka", "bootstrap.servers": kafka_broker.bootstrap, "topic.creation.default.partitions": 3}
    made = piped(db_server, database, tmp_path, sink, {}, topic_prefix=database)
    deliver(made)
    change(db_server, database)
    deliver(made)
    return made


def test_a_topic_is_folded_to_its_newest_events(pipeline: Pipeline, database: str, kafka_broker: KafkaBroker) -> None:
    assert proved(pipeline)["orders"].outcome == "equal"
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap, "partitioner": "murmur2_random"})
    key = {"schema": None, "payload": {"id": 777}}
    value = {"schema": None, "payload": {"op": "c", "source": {}, "before": None, "after": {"id": 777}}}
    producer.produce(f"{database}.{database}.orders", json.dumps(value).encode(), json.dumps(key).encode())
    producer.flush()
    found = proved(pipeline)["orders"]
    assert (found.outcome, found.extra, found.missing, found.changed) == ("unequal", 1, 0, 0)
    assert json.loads(found.differences[0].key) == {"id": 777}


def test_what_retention_has_removed_is_not_called_missing(
    pipeline: Pipeline, database: str, kafka_broker: KafkaBroker
) -> None:
    admin = AdminClient({"bootstrap.servers": kafka_broker.bootstrap})
    places = [TopicPartition(f"{database}.{database}.orders", number, 5) for number in range(3)]
    for done in admin.delete_records(places).values():
        done.result()
    found = proved(pipeline)["orders"]
    assert (found.outcome, found.missing > 0, found.extra, found.changed) == ("undecided", True, 0, 0)
    assert "tail only" in found.note
    assert "begins at offset 5" in found.note


def test_committed_transactions_count_and_others_do_not(
    db_server: MySQLServer, database: str, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    fill(db_server, database, 40)
    sink = {
        "type": "kafka", "bootstrap.servers": kafka_broker.bootstrap, "delivery.guarantee": "exactly-once",
        "transactional.id": database,
    }  # fmt: skip
    pipeline = piped(db_server, database, tmp_path, sink, {"name": database}, topic_prefix=database)
    deliver(pipeline)
    assert proved(pipeline)["orders"].outcome == "equal"
