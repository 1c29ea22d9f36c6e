"""Reads what is in Kafka, for tests of anything that writes there."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

_SECONDS = 30.0
_AT_ONCE = 10_000


class KafkaRecord(NamedTuple):
    """One record of a topic.

    Attributes:
        topic: the topic's name.
        partition: counted from 0.
        offset: its place in the partition.
        key: None for a record without a key.
        value: None for a tombstone.
        headers: in their order.
        timestamp: milliseconds since 1970; -1 where the record has none.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int

    def header(self, name: str) -> bytes | None:
        """The value of the last header called `name`.

        Raises:
            KeyError: there is none.
        """
        return dict(self.headers)[name]


def read_topic(bootstrap: str, topic: str) -> list[KafkaRecord]:
    """Every committed record that a topic holds now, each partition's in order."""
    return read_topics(bootstrap, [topic])


def read_topics(bootstrap: str, topics: Iterable[str]) -> list[KafkaRecord]:
    """Every committed record that the topics hold now, each partition's in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reading",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
        }
    )
    try:
        return _to_the_end(consumer, [place for topic in topics for place in _partitions(consumer, topic)])
    finally:
        consumer.close()


def topic_names(bootstrap: str) -> set[str]:
    """The names of all topics but Kafka's own."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reading"})
    try:
        return {name for name in consumer.list_topics(timeout=_SECONDS).topics if not name.startswith("__")}
    finally:
        consumer.close()


def _partitions(consumer: Consumer, topic: str) -> list[TopicPartition]:
    found = consumer.list_topics(topic, _SECONDS).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    return [TopicPartition(topic, number, 0) for number in found.partitions]


def _to_the_end(consumer: Consumer, places: list[TopicPartition]) -> list[KafkaRecord]:
    consumer.assign(places)
    unread = {(place.topic, place.partition) for place in places}
    records: list[KafkaRecord] = []
    deadline = time.monotonic() + _SECONDS
    while unread:
        messages = consumer.consume(_AT_ONCE, 0.05)
        if messages:
            deadline = time.monotonic() + _SECONDS
        elif time.monotonic() > deadline:
            raise TimeoutError(f"the broker gave nothing of {sorted(unread)} for {_SECONDS:.0f} s")
        for message in messages:
            error = message.error()
            if error is None:
                records.append(_record(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard((message.topic(), message.partition()))
            else:
                raise KafkaException(error)
    return records


def _record(message: Message) -> KafkaRecord:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None and partition is not None and offset is not None
    headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    moment = message.timestamp()[1]
    return KafkaRecord(topic, partition, offset, message.key(), message.value(), tuple(headers), moment)
