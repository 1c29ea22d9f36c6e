"""A quarantine that a topic of Kafka keeps: written by whoever holds the pipeline's state."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from cdckit.engine.config.quarantine_topic import QuarantineTopic
from cdckit.engine.quarantine.store import Quarantined, Stage
from cdckit.engine.quarantine.topic.clients import QuarantineClients
from cdckit.engine.quarantine.topic.messages import Facts, Headers, headers_of, key_of
from cdckit.engine.quarantine.topic.reading import Index, Kept, read_index
from cdckit.errors import StateError
from cdckit.kafka import topic_settings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

log = logging.getLogger("cdckit.quarantine")

_MADE_WITH = {"cleanup.policy": "compact", "max.message.bytes": str(64 << 20)}
"""As a record that its own topic finds too large has to fit, in base64."""
_UNWRITTEN = -1
"""The offset of a record that this process has written."""


class TopicStore:
    """The quarantine of a pipeline whose state this process holds.

    Args:
        topic: where it is; it is made when it is missing.

    Attributes:
        count: how many records it holds.

    Raises:
        StateError: it cannot be had.
    """

    def __init__(self, topic: QuarantineTopic) -> None:
        self._topic = topic
        self._clients = QuarantineClients(topic)
        self._index = read_index(self._clients)
        self._fault: KafkaError | None = None
        if self._index.there:
            self._warn_of_deletion()
        else:
            self._make()

    @property
    def count(self) -> int:
        """How many records it holds."""
        return len(self._index.records)

    def has(self, id_: str) -> bool:
        """Whether a record is kept already."""
        return id_ in self._index.records

    def add(self, record: Quarantined) -> None:
        """Keeps a record that is not kept already; it is safe after `sync`."""
        index = self._index
        index.last += 1
        self._put(replace(record, number=index.last))
        index.records[record.id] = _kept(record, index.last)

    def sync(self) -> None:
        """Returns once all in-sync replicas have what was added.

        Raises:
            StateError: they do not.
        """
        if "_producer" not in self.__dict__:
            return
        left = self._producer.flush(self._clients.seconds)
        if self._fault is not None:
            raise self._refusal(self._fault)
        if left:
            reason = self._clients.errors.reason() or "no answer"
            raise StateError(
                f"{self._clients.shown}: {left:,} records were not acknowledged within {self._topic.timeout_ms} ms "
                f"(quarantine.timeout.ms): {reason}",
                number="CDC7103",
            )

    def keys(self) -> dict[str, str]:
        """The keys that have a record here, each with the position of its first one."""
        first: dict[str, str] = {}
        for _, _, (_, key, position) in self._index.records.values():
            if key:
                first[key] = min(position, first.get(key, position))
        return first

    def remove(self, numbers: Iterable[int]) -> None:
        """Forgets records, durably: a message without a value, after which Kafka removes what was before it."""
        wanted = set(numbers)
        for id_, kept in [*self._index.records.items()]:
            if kept.facts.number in wanted:
                self._produce(id_, None, _tombstone(id_, kept.facts, self._topic))
                del self._index.records[id_]
        self.sync()

    def change(self, record: Quarantined, stage: Stage, by: str, reason: str) -> None:
        """Notes where a record has stopped now, durably."""
        self._put(replace(record, stage=stage, by=by, reason=reason))
        self.sync()

    def close(self) -> None:
        """Lets go; what was not synced may be kept or not."""
        if "_producer" in self.__dict__:
            self._producer.purge()
            self._producer.flush(1)

    @cached_property
    def _producer(self) -> Producer:
        return self._clients.writer()

    def _put(self, record: Quarantined) -> None:
        self._produce(record.id, record.content, headers_of(record, self._topic))

    def _produce(self, id_: str, value: bytes | None, headers: Headers) -> None:
        key = key_of(self._topic.pipeline, id_)
        with self._clients.state_errors("writing to it"):
            while True:
                try:
                    self._producer.produce(
                        self._topic.name,
                        value,
                        key,
                        headers=headers,
                        on_delivery=self._delivered,
                    )
                except BufferError:
                    self._producer.poll(0.1)
                else:
                    break
            self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None and self._fault is None:
            self._fault = error

    def _refusal(self, error: KafkaError) -> StateError:
        said = self._clients.fault(error, "keeping a record")
        if error.name() == "MSG_SIZE_TOO_LARGE":
            return StateError(
                f"{said}; raise the topic's max.message.bytes: what is kept of a record takes up to 4/3 of its bytes",
                number="CDC7103",
            )
        return said

    def _make(self) -> None:
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - an extra
        from confluent_kafka.admin import NewTopic  # noqa: PLC0415 - an extra

        name, replicas = self._topic.name, self._topic.replication_factor
        new = NewTopic(name, 1, replication_factor=replicas, config=_MADE_WITH)
        with self._clients.state_errors("making it"):
            try:
                self._clients.admin.create_topics([new])[name].result(self._clients.seconds)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
        self._index = Index(there=True)

    def _warn_of_deletion(self) -> None:
        """Kafka may delete records there by their age, which is the topic's owner's to decide."""
        settings = topic_settings(self._clients.admin, [self._topic.name], self._clients.seconds).get(self._topic.name)
        if settings is not None and "delete" in settings["cleanup.policy"]:
            limits = [f"{name}={settings[name]}" for name in ("retention.ms", "retention.bytes")]
            if any(not limit.endswith("=-1") for limit in limits):
                log.warning(
                    "%s: Kafka deletes old records there (cleanup.policy=%s, %s), replayed or not: set its "
                    "cleanup.policy to compact",
                    self._clients.shown,
                    settings["cleanup.policy"],
                    ", ".join(limits),
                )


def _kept(record: Quarantined, number: int) -> Kept:
    return Kept(0, _UNWRITTEN, Facts(number, record.key, record.position))


def _tombstone(id_: str, facts: Facts, topic: QuarantineTopic) -> Headers:
    """Its number stays told, so that it is not given twice."""
    gone = Quarantined(id_, 0.0, "write", "", "", "", facts.position, "", b"{}", facts.number)
    return headers_of(gone, replace(topic, context_headers=False))
