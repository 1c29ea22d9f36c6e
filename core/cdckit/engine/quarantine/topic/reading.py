"""Reads the topic that keeps a quarantine: which records it holds, and each of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cdckit.engine.config.quarantine_topic import QuarantineTopic
from cdckit.engine.quarantine.order import in_log_order
from cdckit.engine.quarantine.store import Quarantined
from cdckit.engine.quarantine.topic.clients import QuarantineClients
from cdckit.engine.quarantine.topic.messages import Facts, Headers, facts_in, id_in, record_in
from cdckit.errors import StateError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_POLL_SECONDS = 0.2
_NEAR = 1000
"""So many messages are read over, rather than that the next one is sought."""
_NO_MATTER = ("GROUP_AUTHORIZATION_FAILED",)
"""What librdkafka tells though nothing is asked of the group, which is told of no offset."""


class Kept(NamedTuple):
    """A record that the topic holds: where, and what is known of it without its value."""

    partition: int
    offset: int
    facts: Facts


@dataclass(slots=True)
class Index:
    """The records of one pipeline.

    Attributes:
        there: whether the topic is.
        records: by id.
        last: the highest number that was ever given, as far as the topic tells.
    """

    there: bool = False
    records: dict[str, Kept] = field(default_factory=dict)
    last: int = 0

    def take(self, id_: str, message: Message, shown: str) -> None:
        """Takes the next message of a record: as it is now, or dropped."""
        facts = facts_in(headers_of(message), shown)
        self.last = max(self.last, facts.number)
        if message.value() is None:
            self.records.pop(id_, None)
        else:
            self.records[id_] = Kept(message.partition() or 0, message.offset() or 0, facts)


def read_index(clients: QuarantineClients) -> Index:
    """What the topic holds of the pipeline up to its present end.

    Raises:
        StateError: it cannot be read.
    """
    index = Index()
    with clients.state_errors("reading it"), closing(clients.reader()) as consumer:
        reading = _Reading(clients, consumer)
        ends = reading.ends()
        if ends is None:
            return index
        index.there = True
        for message in reading.all_until(ends):
            id_ = id_in(message.key(), clients.topic.pipeline)
            if id_ is not None:
                index.take(id_, message, clients.shown)
    return index


def records_in(topic: QuarantineTopic, *, log_order: bool = False) -> Iterator[Quarantined]:
    """The records that the topic holds, which may be in use.

    Args:
        topic: where they are.
        log_order: in the order of the log; else in the order in which they came.

    Raises:
        StateError: it cannot be read.
    """
    clients = QuarantineClients(topic)
    found = sorted(read_index(clients).records.items(), key=lambda one: one[1].facts.number)
    if log_order:
        numbered = {kept.facts.number: (id_, kept) for id_, kept in found}
        places = ((number, kept.facts.position) for number, (_, kept) in numbered.items())
        found = [numbered[number] for number in in_log_order(places)]
    if not found:
        return
    with clients.state_errors("reading it"), closing(clients.reader()) as consumer:
        reading = _Reading(clients, consumer)
        for id_, kept in found:
            message = reading.at(kept.partition, kept.offset)
            # Dropped or changed meanwhile, and compacted away.
            if message is not None and (value := message.value()) is not None:
                yield record_in(id_, value, headers_of(message), clients.shown)


def headers_of(message: Message) -> Headers:
    """All of a message's headers, in their order."""
    headers = message.headers()
    return [*headers.items()] if isinstance(headers, dict) else [*(headers or ())]


class _Reading:
    """A consumer of the topic, and where it stands."""

    def __init__(self, clients: QuarantineClients, consumer: Consumer) -> None:
        self._clients = clients
        self._consumer = consumer
        self._next: tuple[int, int] | None = None

    def ends(self) -> dict[int, int] | None:
        """The partitions that have messages, each with its end; None where there is no such topic."""
        from confluent_kafka import TopicPartition  # noqa: PLC0415 - an extra

        name, seconds = self._clients.topic.name, self._clients.seconds
        found = self._consumer.list_topics(name, timeout=seconds).topics[name]
        if found.error is not None:
            return None
        ends = {}
        for partition in found.partitions:
            low, high = self._consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=seconds)
            if high > low:
                ends[partition] = high
        return ends

    def all_until(self, ends: dict[int, int]) -> Iterator[Message]:
        """All messages before the ends of their partitions."""
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition  # noqa: PLC0415 - an extra

        if not ends:
            return
        name = self._clients.topic.name
        self._consumer.assign([TopicPartition(name, partition, OFFSET_BEGINNING) for partition in ends])
        left = dict(ends)
        while left:
            message = self._polled()
            partition, offset = message.partition() or 0, message.offset() or 0
            if message.error() is None:
                yield message
                offset += 1
            if offset >= left.get(partition, offset + 1):
                del left[partition]

    def at(self, partition: int, offset: int) -> Message | None:
        """The message at an offset; None where it is there no more."""
        from confluent_kafka import TopicPartition  # noqa: PLC0415 - an extra

        near = self._next is not None and self._next[0] == partition and 0 <= offset - self._next[1] <= _NEAR
        if not near:
            self._consumer.assign([TopicPartition(self._clients.topic.name, partition, offset)])
        while True:
            message = self._polled()
            found = message.offset() or 0
            if message.error() is not None or found > offset:
                self._next = None
                return None
            self._next = partition, found + 1
            if found == offset:
                return message

    def _polled(self) -> Message:
        """The next message, or the end of a partition."""
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - an extra

        deadline = time.monotonic() + self._clients.seconds
        while time.monotonic() < deadline:
            message = self._consumer.poll(_POLL_SECONDS)
            if message is None:
                continue
            error = message.error()
            if error is None or error.code() == KafkaError._PARTITION_EOF:
                return message
            if error.name() not in _NO_MATTER:
                raise KafkaException(error)
        reason = self._clients.errors.reason() or "nothing more comes"
        raise StateError(
            f"{self._clients.shown}: reading it was given up after {self._clients.topic.timeout_ms} ms "
            f"(quarantine.timeout.ms): {reason}",
            number="CDC7103",
        )
