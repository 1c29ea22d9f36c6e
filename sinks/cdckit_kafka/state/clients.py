"""Clients of the state store `kafka`, and faults told as the store's."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from cdckit import StateError
from cdckit.kafka import ClientErrors, open_admin, open_consumer, open_producer
from cdckit_kafka.state.config import CLIENT_OPTIONS, KafkaStateConfig

_READS = {
    "isolation.level": "read_committed",
    "enable.auto.commit": "false",
    "enable.partition.eof": "true",
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": "50",
}
_HOLDS = {
    "partition.assignment.strategy": "cooperative-sticky",
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
}
_UNLESS_TOLD = {"compression.type": "lz4", "retry.backoff.ms": "20"}
"""A transaction that follows another one at once is asked for again until that is settled."""
_WRITES = {
    "acks": "all",
    "enable.idempotence": "true",
    "max.in.flight.requests.per.connection": "1",
    "linger.ms": "0",
    "message.max.bytes": "1000000000",
}
"""How large a message may be is the topic's to say. For the single request under way see `cdckit_kafka.settings`."""


class StateClients:
    """Makes the clients for one pipeline's state. A stop does not end what they wait for: a save may be behind it.

    Args:
        config: where the topics are.
        pipeline: the pipeline's name.

    Attributes:
        seconds: how long an answer is waited for.
        holder: the name of the group of whoever holds the state, and of the writer's transactions.
        member_name: what others of that group are told of this process.
    """

    def __init__(self, config: KafkaStateConfig, pipeline: str) -> None:
        self.config = config
        self.pipeline = pipeline
        self.seconds = config.timeout_ms / 1000
        self.place = f"topic '{config.topic}' at {config.bootstrap_servers}"
        self.holder = f"cdckit-state.{config.topic}/{pipeline}"
        self.member_name = f"process {os.getpid()} on {socket.gethostname()} ({uuid.uuid4().hex[:8]})"
        self.errors = ClientErrors(CLIENT_OPTIONS, config.producer_settings)

    @cached_property
    def admin(self) -> AdminClient:
        """Asks for topics and groups; it also hears why no connection is made."""
        return open_admin(self.config.consumer_settings, self.errors)

    def reader(self) -> Consumer:
        """Reads what is committed; it joins no group."""
        return open_consumer({**self.config.consumer_settings, **_READS, "group.id": self.holder}, self.errors)

    def member(self) -> Consumer:
        """Takes part in the group of those who want to hold the state."""
        timeout = self.config.hold_timeout_ms
        own = {
            "group.id": self.holder,
            "client.id": self.member_name,
            "session.timeout.ms": str(timeout),
            "heartbeat.interval.ms": str(min(1000, timeout // 3)),
        }
        return open_consumer({**self.config.consumer_settings, **_HOLDS, **own}, self.errors)

    def writer(self) -> Producer:
        """Writes by transactions; the first one that it begins ends those of older writers."""
        patience = str(self.config.timeout_ms)
        own = {"transactional.id": self.holder, "transaction.timeout.ms": patience, "message.timeout.ms": patience}
        return open_producer({**_UNLESS_TOLD, **self.config.producer_settings, **_WRITES, **own}, self.errors)

    @contextmanager
    def state_errors(self, doing: str) -> Iterator[None]:
        """Kafka's faults as `StateError`, with the topic, and what may help."""
        try:
            yield
        except KafkaException as error:
            raise self.error(error, doing) from error

    def error(self, error: KafkaException, doing: str) -> StateError:
        """One of these, told."""
        self.admin.poll(0)
        return StateError(
            f"state store, {self.place}: {doing} failed: {self.errors.fault(error.args[0])}", number="CDC7301"
        )
