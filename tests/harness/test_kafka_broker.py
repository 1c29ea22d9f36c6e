"""The broker keeps topics and messages over restarts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from testkit.servers.kafka import KafkaBroker


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker:
        yield broker


def test_messages_of_all_partitions_in_order(broker: KafkaBroker, unique_name: str) -> None:
    broker.create_topic(unique_name, partitions=3)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(30):
        producer.produce(unique_name, value=str(number), partition=number % 3)
    assert producer.flush(30) == 0
    messages = broker.messages(unique_name)
    for partition in range(3):
        values = [int(message.value() or b"") for message in messages if message.partition() == partition]
        assert values == list(range(partition, 30, 3))


def test_port_taken_before_the_first_start_is_given_up(broker: KafkaBroker) -> None:
    other = KafkaBroker()
    other.port = broker.port
    with other.start():
        assert other.bootstrap != broker.bootstrap


def test_topics_survive_a_restart(broker: KafkaBroker, unique_name: str) -> None:
    broker.create_topic(unique_name, cleanup_policy="compact")
    bootstrap = broker.bootstrap
    broker.restart()
    assert broker.bootstrap == bootstrap
    assert unique_name in broker.topics()
    assert broker.messages(unique_name) == []
