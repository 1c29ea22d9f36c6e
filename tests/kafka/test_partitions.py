"""A key's partition is the one that the Java producer chooses, so that Debezium's topics can be taken over."""

from __future__ import annotations

import random
from typing import Any

from kafka.murmur2 import java_partition
from kafka.reading import read_topic
from kafka.writing import Outgoing, deliver
from testkit.servers.kafka import KafkaBroker

_PARTITIONS = 13


def _keys() -> list[bytes]:
    """Keys of every length modulo four, of bytes with and without the sign bit, and as connectors write them."""
    chance = random.Random(1)
    odd = [chance.randbytes(length) for length in range(1, 65) for _ in range(8)]
    return [b"", *odd, *(b'{"id":%d}' % number for number in range(500))]


def test_the_sink_chooses_partitions_as_murmur2_says(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name, partitions=_PARTITIONS)
    deliver(kafka_broker.bootstrap, [Outgoing(unique_name, key, b"v") for key in _keys()])
    chosen = {record.key: record.partition for record in read_topic(kafka_broker.bootstrap, unique_name)}
    assert chosen == {key: java_partition(key, _PARTITIONS) for key in _keys()}


def test_records_without_a_key_are_spread(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name, partitions=_PARTITIONS)
    sent = [Outgoing(unique_name, None, b"%d" % number) for number in range(2_000)]
    deliver(kafka_broker.bootstrap, sent, {"kafka.sticky.partitioning.linger.ms": 0})
    read = read_topic(kafka_broker.bootstrap, unique_name)
    assert len(read) == len(sent)
    assert {record.partition for record in read} == set(range(_PARTITIONS))


def test_a_record_goes_where_the_java_producer_puts_it(kafka_broker: KafkaBroker, unique_name: str, java: Any) -> None:
    ours, javas = f"{unique_name}.ours", f"{unique_name}.javas"
    for topic in (ours, javas):
        kafka_broker.create_topic(topic, partitions=_PARTITIONS)
    keys = _keys()
    deliver(kafka_broker.bootstrap, [Outgoing(ours, key, b"v") for key in keys])
    _produce_with_java(java, kafka_broker.bootstrap, javas, keys)
    assert _partitions(kafka_broker, ours) == _partitions(kafka_broker, javas)


def _partitions(broker: KafkaBroker, topic: str) -> dict[bytes | None, int]:
    return {record.key: record.partition for record in read_topic(broker.bootstrap, topic)}


def _produce_with_java(java: Any, bootstrap: str, topic: str, keys: list[bytes]) -> None:
    clients = java.jvm.org.apache.kafka.clients.producer
    serializer = "org.apache.kafka.common.serialization.ByteArraySerializer"
    options = java.jvm.java.util.Properties()
    options.put("bootstrap.servers", bootstrap)
    options.put("key.serializer", serializer)
    options.put("value.serializer", serializer)
    options.put("max.in.flight.requests.per.connection", "1")  # else a new leader may take the second request first
    producer = clients.KafkaProducer(options)
    try:
        sent = [producer.send(clients.ProducerRecord(topic, key, b"v")) for key in keys]
        producer.flush()
        for one in sent:
            one.get()
    finally:
        producer.close()
