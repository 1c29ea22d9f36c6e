"""Topics are created as configured, once, and existing ones stay as they are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka.admin import ConfigResource

from cdckit.errors import SinkError
from kafka.reading import read_topic
from kafka.writing import Outgoing, batch, deliver, opened
from testkit.servers.kafka import KafkaBroker

_DEFAULT = "topic.creation.default"


def _partitions(broker: KafkaBroker, topic: str) -> int:
    return len(broker.admin().list_topics(topic).topics[topic].partitions)


def _setting(broker: KafkaBroker, topic: str, name: str) -> str:
    admin, resource = broker.admin(), ConfigResource("topic", topic)
    found: str = admin.describe_configs([resource])[resource].result()[name].value
    return found


def test_a_missing_topic_is_created_as_configured(kafka_broker: KafkaBroker, unique_name: str) -> None:
    options = {
        f"{_DEFAULT}.partitions": "3",
        f"{_DEFAULT}.replication.factor": 1,
        f"{_DEFAULT}.cleanup.policy": "compact",
        f"{_DEFAULT}.min.compaction.lag.ms": 60000,
    }
    deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"k", b"v")], options)
    assert _partitions(kafka_broker, unique_name) == 3
    assert _setting(kafka_broker, unique_name, "cleanup.policy") == "compact"
    assert _setting(kafka_broker, unique_name, "min.compaction.lag.ms") == "60000"
    assert len(read_topic(kafka_broker.bootstrap, unique_name)) == 1


def test_without_configuration_the_brokers_defaults_hold(kafka_broker: KafkaBroker, unique_name: str) -> None:
    deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"k", b"v")])
    assert _partitions(kafka_broker, unique_name) == 1
    assert _setting(kafka_broker, unique_name, "cleanup.policy") == "delete"


def test_the_first_group_that_fits_counts(kafka_broker: KafkaBroker, unique_name: str) -> None:
    options = {
        f"{_DEFAULT}.partitions": 2,
        f"{_DEFAULT}.retention.ms": 7200000,
        "topic.creation.groups": "wide,compacted",
        "topic.creation.wide.include": f"{unique_name}\\.orders.*",
        "topic.creation.wide.exclude": f"{unique_name}\\.orders_old, {unique_name}\\.orders_older",
        "topic.creation.wide.partitions": 4,
        "topic.creation.compacted.include": f".*_none,{unique_name}\\.orders.*",
        "topic.creation.compacted.cleanup.policy": "compact",
    }
    names = [f"{unique_name}.{table}" for table in ("orders", "orders_old", "customers")]
    deliver(kafka_broker.bootstrap, [Outgoing(name, b"k", b"v") for name in names], options)
    orders, old, customers = names
    assert [_partitions(kafka_broker, name) for name in names] == [4, 2, 2]
    assert [_setting(kafka_broker, name, "cleanup.policy") for name in names] == ["delete", "compact", "delete"]
    assert _setting(kafka_broker, customers, "retention.ms") == "7200000"
    assert _setting(kafka_broker, old, "retention.ms") == _setting(kafka_broker, orders, "retention.ms") == "604800000"


def test_an_existing_topic_is_left_alone(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name, partitions=2)
    options = {f"{_DEFAULT}.partitions": 5, f"{_DEFAULT}.cleanup.policy": "compact"}
    deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"k", b"v")], options)
    assert _partitions(kafka_broker, unique_name) == 2
    assert _setting(kafka_broker, unique_name, "cleanup.policy") == "delete"


def test_a_topic_that_comes_up_later_is_left_alone(kafka_broker: KafkaBroker, unique_name: str) -> None:
    with opened(kafka_broker.bootstrap, {f"{_DEFAULT}.partitions": 5}) as sink:
        kafka_broker.create_topic(unique_name, partitions=2)
        sink.write(batch([Outgoing(unique_name, b"k", b"v")]))
        sink.flush()
    assert _partitions(kafka_broker, unique_name) == 2


def test_sinks_that_create_the_same_topics_at_once_agree(kafka_broker: KafkaBroker, unique_name: str) -> None:
    topics = [f"{unique_name}.{number}" for number in range(8)]
    options = {f"{_DEFAULT}.partitions": 3}

    def task(number: int) -> None:
        deliver(kafka_broker.bootstrap, [Outgoing(topic, b"k", b"%d" % number) for topic in topics], options)

    with ThreadPoolExecutor(4) as tasks:
        list(tasks.map(task, range(4)))
    for topic in topics:
        assert _partitions(kafka_broker, topic) == 3
        assert {record.value for record in read_topic(kafka_broker.bootstrap, topic)} == {b"0", b"1", b"2", b"3"}


def test_a_topic_that_cannot_be_created_says_why(kafka_broker: KafkaBroker, unique_name: str) -> None:
    with pytest.raises(SinkError) as caught:
        deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"k", b"v")], {f"{_DEFAULT}.replication.factor": 3})
    said = str(caught.value)
    assert unique_name in said
    assert "replication.factor=3" in said
    assert "sink.topic.creation" in said


def test_a_wrong_topic_setting_is_named(kafka_broker: KafkaBroker, unique_name: str) -> None:
    options = {f"{_DEFAULT}.cleanup.policy": "shrink"}
    with pytest.raises(SinkError, match=r"cleanup\.policy=shrink.*shrink"):
        deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"k", b"v")], options)


def test_an_impossible_topic_name_is_named(kafka_broker: KafkaBroker) -> None:
    with pytest.raises(SinkError, match=r"topic 'no/such' .*249"):
        deliver(kafka_broker.bootstrap, [Outgoing("no/such", b"k", b"v")])


def test_with_creation_off_a_missing_topic_is_an_error(kafka_broker: KafkaBroker, unique_name: str) -> None:
    options = {"topic.creation.enable": "false", "kafka.topic.metadata.propagation.max.ms": 500}
    with pytest.raises(SinkError, match=f"topic '{unique_name}'.*create it"):
        deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"k", b"v")], options)
    assert unique_name not in kafka_broker.topics()
