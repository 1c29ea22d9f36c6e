"""The topics of the state store `kafka`: made where they are not there, and read to their end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator

from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from cdckit import StateError
from cdckit_kafka.state.clients import StateClients

log = logging.getLogger("cdckit.kafka")

PARTITION = 0
"""All of a state is in this partition of its topics, however many these have."""
_MADE_WITH = {"cleanup.policy": "compact", "max.message.bytes": str(64 << 20)}
_FOREVER = "-1"
_RETENTION = ("retention.ms", "retention.bytes")
_NO_MATTER = ("GROUP_AUTHORIZATION_FAILED",)
"""What librdkafka tells though nothing is asked of the group, which is told of no offset."""
_NOT_YET = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
)
_Taken = Callable[[bytes | None, bytes | None], object]


def has_topics(clients: StateClients, admin: AdminClient) -> bool:
    """Whether they are there.

    Raises:
        StateError: Kafka does not say.
    """
    with clients.state_errors("asking for topics"):
        known = admin.list_topics(timeout=clients.seconds).topics
    return {clients.config.topic, clients.config.histories} <= set(known)


def make_topics(clients: StateClients, admin: AdminClient) -> None:
    """Makes those that are not there; another process may do the same meanwhile.

    Raises:
        StateError: one cannot be made, or it would lose what is old.
    """
    config = clients.config
    with clients.state_errors("asking for topics"):
        known = set(admin.list_topics(timeout=clients.seconds).topics)
    for topic in (config.topic, config.histories):
        if topic in known:
            _require_lasting(clients, admin, topic)
        else:
            new = NewTopic(topic, 1, replication_factor=config.replication_factor, config=_MADE_WITH)
            with clients.state_errors(f"making the topic '{topic}'"):
                made = _made(admin.create_topics([new])[topic].result, clients.seconds)
            if not made:
                _require_lasting(clients, admin, topic)


def _made(result: Callable[[float], object], seconds: float) -> bool:
    """Whether it was made here; false: it was there."""
    try:
        result(seconds)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        return False
    return True


def _require_lasting(clients: StateClients, admin: AdminClient, topic: str) -> None:
    """Makes sure that Kafka deletes nothing there that counts."""
    asked = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)], request_timeout=clients.seconds)
    try:
        [settings] = [future.result() for future in asked.values()]
    except KafkaException as error:
        log.warning("state store: how long topic '%s' keeps messages is not known: %s", topic, error.args[0].str())
        return
    deletes = "delete" in settings["cleanup.policy"].value
    if deletes and any(settings[name].value != _FOREVER for name in _RETENTION):
        raise StateError(
            f"state store: topic '{topic}' at {clients.config.bootstrap_servers} deletes old messages (cleanup.policy="
            f"{settings['cleanup.policy'].value}), and with them the state: set its cleanup.policy to compact, or name "
            "another topic, which is made so (state.topic, state.history.topic)",
            number="CDC7305",
        )


class TopicReader:
    """Reads a topic's first partition, and later what has come since.

    Args:
        clients: makes the consumer.
        topic: which one.
        taken: is called with each message's key and value.
    """

    def __init__(self, clients: StateClients, topic: str, taken: _Taken) -> None:
        self._clients = clients
        self._place = TopicPartition(topic, PARTITION, OFFSET_BEGINNING)
        self._taken = taken
        self._admin = clients.admin
        self._consumer: Consumer | None = None
        self._read = 0

    def catch_up(self, *, there: bool = False) -> None:
        """Reads to the present end, be a transaction there still open: what comes before that counts.

        Args:
            there: the topic has been made; a broker that does not know it yet is asked again.

        Raises:
            StateError: it cannot be read.
        """
        topic = self._place.topic
        with self._clients.state_errors(f"reading topic '{topic}'"):
            end = self._end(there=there)
            if end is not None and self._read < end:
                for key, value in self._messages(end):
                    self._taken(key, value)

    def _end(self, *, there: bool) -> int | None:
        """Behind the last message; None where the topic is not there, and need not be."""
        deadline, topic = time.monotonic() + self._clients.seconds, self._place.topic
        while True:
            if topic not in self._admin.list_topics(timeout=self._clients.seconds).topics:
                if not there:
                    return None
                if time.monotonic() > deadline:
                    raise StateError(f"state store: the brokers do not know topic '{topic}', which was made just now")
                time.sleep(0.05)
                continue
            asked = self._admin.list_offsets(
                {TopicPartition(topic, PARTITION): OffsetSpec.latest()},  # type: ignore[no-untyped-call]
                isolation_level=IsolationLevel.READ_UNCOMMITTED,
                request_timeout=self._clients.seconds,
            )
            [future] = asked.values()
            try:
                return int(future.result().offset)
            except KafkaException as error:
                if error.args[0].code() not in _NOT_YET or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def _messages(self, end: int) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Those until `end`. A transaction that its process has left open ends by its own timeout, no later."""
        if self._consumer is None:
            self._consumer = self._clients.reader()
            self._consumer.assign([self._place])
        deadline = time.monotonic() + 3 * self._clients.seconds
        while self._read < end:
            message = self._consumer.poll(0.2)
            if message is None:
                if time.monotonic() > deadline:
                    raise StateError(self._silence(end))
                continue
            error = message.error()
            if error is None:
                yield message.key(), message.value()
                deadline = time.monotonic() + 3 * self._clients.seconds
            elif error.code() == KafkaError._PARTITION_EOF:
                self._read = int(message.offset() or 0)
            elif error.name() not in _NO_MATTER:
                raise KafkaException(error)

    def _silence(self, end: int) -> str:
        reason = self._clients.errors.reason() or "a transaction may be open there (kafka-transactions.sh list)"
        return (
            f"state store, {self._clients.place}: topic '{self._place.topic}' was read to {self._read} of {end}, and "
            f"nothing more comes: {reason}"
        )

    def close(self) -> None:
        """Ends the connection."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
