"""cdckit's pipelines from MySQL to Kafka, on the direct runner."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar

from confluent_kafka import Consumer, KafkaException, TopicPartition

from cdckit_faults.drivers.cdckit import Cdckit
from cdckit_faults.drivers.driver import Folders, Refusal, Systems
from cdckit_faults.history.record import Record, record_of
from cdckit_faults.tables import topics_of

_SECONDS = 5.0


class CdckitKafka(Cdckit):
    """MySQL to topics of one partition."""

    lane: ClassVar[str] = "kafka"
    refusals: ClassVar[Mapping[str, Refusal]] = {
        "too-large": Refusal(frozenset({4}), r"error CDC4\d{3}: .*faults\.\w+\.\w+.*(too large|size|bytes)"),
        "topic-deleted": Refusal(frozenset({4}), r"error CDC4\d{3}: .*faults\.\w+\.\w+"),
    }

    def __init__(self, folders: Folders, systems: Systems) -> None:
        super().__init__(folders, systems)
        self._next = dict.fromkeys(topics_of(systems.database), 0)
        self._consumer = Consumer(
            {
                "bootstrap.servers": systems.bootstrap,
                "group.id": "faults",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "log_level": 2,
            }
        )

    def sink(self) -> Mapping[str, Any]:
        """Topics are made where they are missing."""
        return {
            "type": "kafka",
            "bootstrap.servers": self.systems.bootstrap,
            "topic.creation.default.partitions": 1,
            "topic.creation.default.replication.factor": 1,
            "kafka.reconnect.backoff.max.ms": 200,
        }

    def forget(self, topic: str) -> None:
        """The topic is gone; one of its name begins anew."""
        self._next[topic] = 0

    def delivered(self) -> Iterator[Record]:
        """By the topics; nothing while the broker is away."""
        for topic in self._next:
            yield from self._new(topic)

    def close(self) -> None:
        """Ends the process and the consumer."""
        super().close()
        self._consumer.close()

    def _new(self, topic: str) -> Iterator[Record]:
        end = self._end(topic)
        if end <= self._next[topic]:
            return
        self._consumer.assign([TopicPartition(topic, 0, self._next[topic])])
        while self._next[topic] < end and (message := self._consumer.poll(_SECONDS)) is not None:
            if message.error():
                return
            self._next[topic] = (message.offset() or 0) + 1
            value = message.value()
            yield record_of(topic, json.loads(message.key() or b""), json.loads(value) if value else None)

    def _end(self, topic: str) -> int:
        """Where the topic ends; 0 where there is none yet, or no broker.

        What is known of a topic is asked for each time: a client remembers for long that there was none of that name.
        """
        with suppress(KafkaException):
            if not self._consumer.list_topics(topic, timeout=_SECONDS).topics[topic].error:
                ends = self._consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=_SECONDS)
                return ends[1] if ends else 0
        return 0
