"""Writes to the topics of the state store `kafka`: a transaction a save, and nothing after another process's first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message

from cdckit import StateError
from cdckit_kafka.state.clients import StateClients
from cdckit_kafka.state.topics import PARTITION

_LOST = frozenset(
    (
        KafkaError._FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
        KafkaError.PRODUCER_FENCED,
    )
)
"""What a writer is told whom another one has shut out."""


class Saved(NamedTuple):
    """A message to write; no value takes away what its key had."""

    key: bytes
    value: bytes | None


class StateWriter:
    """A writer whose transactions shut out those of older ones, from here on.

    Args:
        clients: makes the producer.
        other: tells which other process holds the state, or None.

    Raises:
        StateError: Kafka does not begin with its transactions.
    """

    def __init__(self, clients: StateClients, other: Callable[[], str | None]) -> None:
        self._clients = clients
        self._other = other
        self._turn = threading.RLock()
        self._lost: StateError | None = None
        self._refused: KafkaError | None = None
        self._producer = clients.writer()
        with clients.state_errors("beginning with transactions"):
            self._producer.init_transactions(clients.seconds)

    def require(self) -> None:
        """Makes sure that no save has failed.

        Raises:
            StateError: one has.
        """
        if self._lost is not None:
            raise self._lost

    def write(self, topic: str, messages: Iterable[Saved]) -> None:
        """Writes all of them or none, durably.

        Raises:
            StateError: they are not written, or Kafka does not tell whether they are; nothing more is.
        """
        with self._turn:
            self.require()
            self._refused = None
            try:
                self._producer.begin_transaction()
                for each in messages:
                    self._produce(topic, each)
                self._producer.commit_transaction(self._clients.seconds)
            except KafkaException as error:
                raise self._given_up(error, topic) from error

    def _produce(self, topic: str, message: Saved) -> None:
        while True:
            try:
                self._producer.produce(topic, message.value, message.key, PARTITION, on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None and self._refused is None:
            self._refused = error

    def _given_up(self, error: KafkaException, topic: str) -> StateError:
        """What to tell of a save that failed, and of all later ones: the client's count of messages is no longer sound.

        It is taken back, where that can be done.
        """
        fault: KafkaError = error.args[0]
        try:
            if not fault.fatal() and fault.code() not in _LOST:
                self._producer.abort_transaction(self._clients.seconds)
                self._lost = self._refusal(self._refused or fault, topic)
                return self._lost
        except KafkaException as worse:
            fault = worse.args[0]
        self._lost = self._hold_lost(fault)
        return self._lost

    def _refusal(self, fault: KafkaError, topic: str) -> StateError:
        return StateError(
            f"state store, {self._clients.place}: topic '{topic}' does not take a save: "
            f"{self._clients.errors.fault(fault)}; check that its max.message.bytes is large enough, and that the user "
            "may write there",
            number="CDC7301",
        )

    def _hold_lost(self, fault: KafkaError) -> StateError:
        whose = self._holder() if fault.code() in _LOST else str(self._clients.errors.fault(fault))
        return StateError(
            f"state store, {self._clients.place}: the hold on the state of '{self._clients.pipeline}' was lost "
            f"({whose}), and nothing more is saved: start the pipeline again; it goes on from what was saved",
            number="CDC7302",
        )

    def _holder(self) -> str:
        try:
            other = self._other()
        except KafkaException:
            other = None
        return f"{other} holds it" if other else "another process took it, or a save took longer than state.timeout.ms"
