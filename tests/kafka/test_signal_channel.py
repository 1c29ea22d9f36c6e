"""The signal channel `kafka`: messages of one partition whose key is the source's `topic.prefix`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cdckit.connector.signals import SignalOptions
from cdckit.connector.signals.kafka import KafkaChannel
from cdckit.errors import ConfigError
from kafka.writing import Outgoing, deliver
from mongodb.capture import shown
from mongodb.signalling import Signalled as SignalledMongo
from mysql.signalling import Signalled
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql_family import SQLServer

_COMMITS = {"signal.consumer.offset.commit.enabled": "true"}


@contextmanager
def _channel(broker: KafkaBroker, topic: str, **options: str) -> Iterator[KafkaChannel]:
    given = {
        "signal.enabled.channels": "kafka",
        "signal.kafka.bootstrap.servers": broker.bootstrap,
        "signal.kafka.topic": topic,
        "signal.kafka.groupId": topic,
        **options,
    }
    channel = KafkaChannel(SignalOptions.load(given, "source")[0], "p")
    try:
        yield channel
    finally:
        channel.close()


def _say(broker: KafkaBroker, topic: str, *words: str, key: bytes = b"p") -> None:
    values = [json.dumps({"id": word, "type": "log", "data": {"message": word}}).encode() for word in words]
    deliver(broker.bootstrap, [Outgoing(topic, key, value) for value in values])


def _heard(channel: KafkaChannel, number: int) -> list[str]:
    """The ids of the next signals."""
    found: list[str] = []
    deadline = time.monotonic() + 30
    while len(found) < number and time.monotonic() < deadline:
        found += [signal.id for signal in channel.poll()]
    return found


def test_only_messages_from_now_on_that_are_for_this_source(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name)
    _say(kafka_broker, unique_name, "before")
    with _channel(kafka_broker, unique_name) as channel:
        _say(kafka_broker, unique_name, "for others", key=b"q")
        deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"p", b"nonsense")])
        _say(kafka_broker, unique_name, "one", "two")
        assert _heard(channel, 2) == ["one", "two"]


def test_messages_that_came_meanwhile_where_offsets_are_committed(kafka_broker: KafkaBroker, unique_name: str) -> None:
    """What was taken and not known to a saved offset is taken again."""
    kafka_broker.create_topic(unique_name)
    _say(kafka_broker, unique_name, "one", "two")
    with _channel(kafka_broker, unique_name, **_COMMITS) as channel:
        assert _heard(channel, 2) == ["one", "two"]
    with _channel(kafka_broker, unique_name, **_COMMITS) as channel:
        assert _heard(channel, 2) == ["one", "two"]
        channel.committed()
    _say(kafka_broker, unique_name, "three")
    with _channel(kafka_broker, unique_name, **_COMMITS) as channel:
        assert _heard(channel, 1) == ["three"]


def test_several_partitions_have_no_order(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name, partitions=2)
    with pytest.raises(ConfigError, match="has 2 partitions"), _channel(kafka_broker, unique_name):
        pass


def test_a_table_is_read_as_a_message_says(
    kafka_broker: KafkaBroker, mysql_server: SQLServer, unique_name: str, tmp_path: Path
) -> None:
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE TABLE t (id INT PRIMARY KEY);")
    mysql_server.run_sql(f"INSERT INTO {unique_name}.t VALUES (1), (2), (3)")
    kafka_broker.create_topic(unique_name)
    options: dict[str, Any] = {
        "read_only": "true",
        "signal_data_collection": "",
        "signal_enabled_channels": "kafka",
        "signal.kafka.bootstrap.servers": kafka_broker.bootstrap,
        "signal.kafka.topic": unique_name,
        **_COMMITS,
    }
    capture = Signalled(mysql_server, unique_name, tmp_path / "state", **options)
    capture.once()
    request = {"type": "execute-snapshot", "data": {"data-collections": [f"{unique_name}.t"]}}
    deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"p", json.dumps(request).encode())])
    capture.follow(until=lambda: len(capture.reads()) >= 3)
    assert capture.reads() == [(1,), (2,), (3,)]
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def test_a_collection_is_read_as_a_message_says(
    kafka_broker: KafkaBroker, mongo: MongoReplicaSet, unique_name: str
) -> None:
    """In the topic that the source's name gives; another group than the default's can have it, too."""
    topic = f"{unique_name}-signal"
    kafka_broker.create_topic(topic)
    with mongo.client() as client:
        client[unique_name].a.insert_many({"_id": number, "half": number % 2} for number in range(20))
        signalled = SignalledMongo(
            mongo,
            client[unique_name],
            topic_prefix=unique_name,
            signal_enabled_channels="kafka",
            signal_kafka_bootstrap_servers=kafka_broker.bootstrap,
            signal_kafka_poll_timeout_ms=20,
        )
        signalled.options |= {"signal.kafka.groupId": unique_name, **_COMMITS}
        signalled.once()
        odd = {"data-collection": signalled.name("a"), "filter": '{"half": 1}'}
        data = {"data-collections": [signalled.name("a")], "type": "INCREMENTAL", "additional-conditions": [odd]}
        request = json.dumps({"type": "execute-snapshot", "data": data}).encode()
        deliver(kafka_broker.bootstrap, [Outgoing(topic, unique_name.encode(), request)])
        signalled.signal(data_collections=[signalled.name("a")])
        signalled.follow(until=lambda: len(signalled.reads()) >= 10)
        assert [int(shown(record)[1]) for record in signalled.reads()] == list(range(1, 20, 2)), "the one channel"
        client.drop_database(unique_name)
