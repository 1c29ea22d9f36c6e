"""Transactions that are over by their coordinator, and open in partitions whose markers it never wrote.

Brokers of Kafka 4.3 do that (KAFKA-20734): one that comes back takes a partition that has no leader yet for one that
was deleted, and leaves it out when it ends a transaction. Readers of committed records then wait there for ever. And
the producer's next transaction there decides about both: if it commits, both are seen.

Whether such a transaction was to be committed is not known any more. Nothing of it is seen, so all of it is aborted,
and written again from the place before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from cdckit.kafka import open_consumer
from cdckit_kafka.client import Client
from cdckit_kafka.settings import consumer_settings

_STEP_SECONDS = 0.2
_ANSWER_SECONDS = 5.0
_NOW = 0

Copy = tuple[str, bytes | None, bytes | None, int, None, None, int, list[Any]]
"""The arguments of `Producer.produce`: topic, value, key, partition, no callbacks, timestamp, headers."""


class HangingError(Exception):
    """A transaction of the pipeline's own is open though it was ended.

    Attributes:
        topics: where it has written; None where that is not known.
    """

    def __init__(self, offset_topic: str, topics: Iterable[Iterable[str] | None]) -> None:
        super().__init__()
        found: set[str] | None = {offset_topic}
        for some in topics:
            found = None if found is None or some is None else found | {*some}
        self.topics = found


def first_records(client: Client, settings: Mapping[str, str], topics: Iterable[str]) -> list[Copy]:
    """The first record of each partition whose readers of committed records are not given all, to be written again.

    Args:
        client: whose waits and errors are told.
        settings: the producer's.
        topics: their names; one that is not there any more has no partitions.

    Raises:
        SinkError: nobody answers for too long.
    """
    wait = client.wait("Kafka to tell where transactions are open")
    while True:
        try:
            places = _held_back(client.administrator(), frozenset(topics))
            break
        except (KafkaException, TimeoutError):  # as while leaders are elected
            wait.still(1)
    own = consumer_settings(settings, committed=False)
    with closing(open_consumer(own, client.errors)) as consumer:
        consumer.assign(places)
        return list(_first_of_each(consumer, len(places), wait.still))


def _held_back(admin: AdminClient, topics: Collection[str]) -> list[TopicPartition]:
    """The partitions that have more than readers of committed records are given, each from where that begins."""
    there = admin.list_topics(timeout=_ANSWER_SECONDS).topics
    places = [TopicPartition(topic, number) for topic in topics if topic in there for number in there[topic].partitions]
    given = _ends(admin, places, IsolationLevel.READ_COMMITTED)
    ends = _ends(admin, places, IsolationLevel.READ_UNCOMMITTED)
    return [
        TopicPartition(place.topic, place.partition, begin)
        for place, begin, end in zip(places, given, ends, strict=True)
        if begin < end
    ]


def _ends(admin: AdminClient, places: Collection[TopicPartition], level: IsolationLevel) -> list[int]:
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    answers = admin.list_offsets(dict.fromkeys(places, latest), isolation_level=level, request_timeout=_ANSWER_SECONDS)
    return [answers[place].result(_ANSWER_SECONDS).offset for place in places]


def _first_of_each(consumer: Consumer, partitions: int, still: Callable[[int], None]) -> Iterator[Copy]:
    """One record of each partition; none where only markers of transactions stand behind its place."""
    read: set[tuple[str | None, int | None]] = set()
    while len(read) < partitions:
        message = consumer.poll(_STEP_SECONDS)
        if message is None:
            still(1)
            continue
        error, place = message.error(), (message.topic(), message.partition())
        if place in read:
            continue
        if error is None:
            yield _copy(message)
        elif error.code() != KafkaError._PARTITION_EOF:
            still(1)
            continue
        read.add(place)


def _copy(message: Message) -> Copy:
    topic, partition = message.topic(), message.partition()
    assert topic is not None and partition is not None  # it is no error
    return topic, message.value(), message.key(), partition, None, None, _NOW, list(message.headers() or ())
