"""The compacted topic in which a pipeline's offset arrives together with its records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from cdckit import SinkError
from cdckit.kafka import open_consumer
from cdckit.waiting import answer_of
from cdckit_kafka.client import Client
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.settings import consumer_settings
from cdckit_kafka.topic_rules import TopicRules
from cdckit_kafka.topics import Topics

_PARTITION = 0
_STEP_SECONDS = 0.2
_ANSWER_SECONDS = 5.0
_LONGEST_NAME = 249
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]")
_SETTINGS = {"cleanup.policy": "compact", "segment.bytes": str(4 << 20)}
"""Of the topic; small segments are compacted soon, so that it is read fast at a start."""


class Noted(NamedTuple):
    """What the topic says of a pipeline: the place that was committed last, and which run did that."""

    run: str
    place: Any


class OffsetTopic:
    """Reads the topic, and says what is to be written to it.

    Args:
        config: the sink's options.
        pipeline: the pipeline's name, by which its record is found.
        settings: the producer's.
    """

    def __init__(self, config: KafkaSinkConfig, pipeline: str, settings: Mapping[str, str]) -> None:
        self.name = config.offset_topic or _NOT_IN_NAMES.sub("_", f"cdckit-offsets-{pipeline}")[:_LONGEST_NAME]
        self._config = config
        self._key = json.dumps({"pipeline": pipeline}).encode()
        self._settings = settings

    def ensure(self, client: Client, existing: Iterable[str]) -> None:
        """Creates it where it is missing and the sink may.

        Raises:
            SinkError: it cannot be created.
        """
        if not self._config.topic_creation_enable:
            return
        replicas = self._config.topic_creation_default_replication_factor
        settings = {f"default.{name}": value for name, value in _SETTINGS.items()}
        topics = Topics(TopicRules.configured((), settings, 1, replicas), client.administrator, client.wait)
        topics.exist(existing)
        topics.ensure([self.name])

    def record(self, noted: Noted) -> tuple[str, bytes, bytes, int]:
        """The record that notes a place, as `Producer.produce` takes it: topic, value, key, partition."""
        return self.name, json.dumps(noted._asdict()).encode(), self._key, _PARTITION

    def newest(self, client: Client, *, settled: bool) -> Noted | None:
        """What is noted of the pipeline, None where nothing is.

        Args:
            client: whose waits and errors are told.
            settled: transactions that are open are waited for.

        Raises:
            SinkError: the topic cannot be read, or what is noted is damaged.
        """
        wait = client.wait(f"Kafka to give the offsets in topic {self.name}")
        # A transaction that is open holds back what a reader of committed records is given; the end without it says how
        # far to wait.
        end = self._end(client, wait.still) if settled else 0
        with closing(open_consumer(consumer_settings(self._settings), client.errors)) as consumer:
            consumer.assign([TopicPartition(self.name, _PARTITION, OFFSET_BEGINNING)])
            found = self._read(consumer, end, wait.still)
        wait.over()
        return None if found is None else self._parsed(found)

    def _end(self, client: Client, still: Callable[[int], None]) -> int:
        """How far the partition reaches, with what is not committed."""
        settings = consumer_settings(self._settings, committed=False)
        place = TopicPartition(self.name, _PARTITION)
        with closing(open_consumer(settings, client.errors)) as consumer:
            while True:
                try:
                    found = answer_of(lambda: consumer.get_watermark_offsets(place, timeout=_ANSWER_SECONDS))
                except KafkaException as error:
                    self._require_passing(error.args[0])
                else:
                    if found is not None:
                        return int(found[1])
                still(1)

    def _read(self, consumer: Consumer, end: int, still: Callable[[int], None]) -> bytes | None:
        found: bytes | None = None
        while True:
            message = consumer.poll(_STEP_SECONDS)
            error = None if message is None else message.error()
            if message is None:
                still(1)
            elif error is None:
                found = message.value() if message.key() == self._key else found
            elif error.code() != KafkaError._PARTITION_EOF:
                self._require_passing(error)
                still(1)
            # The end of the partition is told with its place, behind markers of transactions, too, which are no
            # messages.
            elif (message.offset() or 0) >= end:
                return found

    def _require_passing(self, error: KafkaError) -> None:
        if error.code() in _LASTING:
            raise SinkError(
                f"topic '{self.name}', which keeps the pipeline's offset, cannot be read: {error.str()}. Create it "
                "(compacted, with one partition), or grant the sink's user READ, WRITE, CREATE and DESCRIBE on it",
                number="CDC4108",
            )

    def _parsed(self, value: bytes) -> Noted:
        try:
            return Noted(**json.loads(value))
        except (ValueError, TypeError) as error:
            raise SinkError(
                f"topic '{self.name}': the record with the key {self._key.decode()} is none that this sink wrote: "
                f"{value[:200]!r}. Choose another sink.offset.topic",
                number="CDC4108",
            ) from error


_LASTING = frozenset(
    (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.TOPIC_EXCEPTION,
    )
)
