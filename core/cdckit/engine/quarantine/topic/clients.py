"""Clients of the topic that keeps a quarantine, and faults told as the quarantine's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from cdckit.engine.config.quarantine_topic import QuarantineTopic
from cdckit.errors import StateError
from cdckit.kafka import ClientErrors, ClientOptions, open_admin, open_consumer, open_producer

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin import AdminClient

_OPTIONS = ClientOptions("quarantine.kafka", "quarantine.bootstrap.servers", "quarantine.timeout.ms")
_READS = {
    "enable.auto.commit": "false",
    "enable.partition.eof": "true",
    "fetch.wait.max.ms": "50",
    "allow.auto.create.topics": "false",
}
_WRITES = {
    "acks": "all",
    "enable.idempotence": "true",
    "max.in.flight.requests.per.connection": "1",
    "compression.type": "lz4",
    "linger.ms": "5",
    "message.max.bytes": "1000000000",
    "partitioner": "murmur2_random",
    "allow.auto.create.topics": "false",
}
"""How large a message may be is the topic's to say."""


class QuarantineClients:
    """Makes the clients of one pipeline's quarantine.

    Args:
        topic: where it is.

    Attributes:
        seconds: how long an answer is waited for.
        shown: what messages call the quarantine.
    """

    def __init__(self, topic: QuarantineTopic) -> None:
        self.topic = topic
        self.seconds = topic.timeout_ms / 1000
        self.shown = f"quarantine, topic '{topic.name}' at {topic.servers}"
        self._settings = {**topic.settings, "bootstrap.servers": topic.servers}
        self.errors = ClientErrors(_OPTIONS, self._settings)

    @cached_property
    def admin(self) -> AdminClient:
        """Asks for the topic, and makes it."""
        return open_admin(self._settings, self.errors)

    def reader(self) -> Consumer:
        """Reads the topic; it joins no group."""
        group = f"cdckit-quarantine.{self.topic.pipeline}"
        return open_consumer({**self._settings, **_READS, "group.id": group}, self.errors)

    def writer(self) -> Producer:
        """Writes records, each acknowledged by all in-sync replicas."""
        patience = {"message.timeout.ms": str(self.topic.timeout_ms)}
        return open_producer({**self._settings, **_WRITES, **patience}, self.errors)

    @contextmanager
    def state_errors(self, doing: str) -> Iterator[None]:
        """Kafka's faults as `StateError`, with the topic, and what may help."""
        from confluent_kafka import KafkaException  # noqa: PLC0415 - an extra

        try:
            yield
        except KafkaException as error:
            raise self.fault(error.args[0], doing) from error

    def fault(self, error: KafkaError, doing: str) -> StateError:
        """One of these, told."""
        return StateError(f"{self.shown}: {doing} failed: {self.errors.fault(error)}", number="CDC7103")
