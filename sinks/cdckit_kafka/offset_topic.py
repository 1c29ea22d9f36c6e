"""The compacted topic in which a pipeline's offset arrives together with its records."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from cdckit import SinkError
from cdckit.kafka import open_consumer
from cdckit.waiting import answer_of
from cdckit_kafka.client import Client
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.hanging import HangingError
from cdckit_kafka.settings import consumer_settings
from cdckit_kafka.topic_rules import TopicRules
from cdckit_kafka.topics import Topics

_PARTITION = 0
_STEP_SECONDS = 0.2
_ANSWER_SECONDS = 5.0
_LONGEST_NAME = 249
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]")
_SETTLING_SECONDS = 5.0
_NOW = 0
_TOPICS = "topics"
_LARGEST_HEADER = 500_000
_SETTINGS = {"cleanup.policy": "compact", "segment.bytes": str(4 << 20)}
"""Of the topic; small segments are compacted soon, so that it is read fast at a start."""


Headers = list[tuple[str, str | bytes | None]]


class Noted(NamedTuple):
    """What the topic says of a pipeline: the place that was committed last, and which run did that."""

    run: str
    place: Any


class _HeldBackError(Exception):
    """Readers of committed records are given none beyond an offset."""

    def __init__(self, begin: int) -> None:
        super().__init__()
        self.begin = begin


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

    def record(self, noted: Noted, topics: Iterable[str]) -> tuple[str, bytes, bytes, int, None, None, int, Headers]:
        """The record that notes a place, as `Producer.produce` takes it.

        Args:
            noted: the place.
            topics: what else the transaction has written to. They are left out where they would make a record that
                brokers refuse.
        """
        written = json.dumps(sorted(topics)).encode()
        headers: Headers = [(_TOPICS, written)] if len(written) <= _LARGEST_HEADER else []
        return self.name, json.dumps(noted._asdict()).encode(), self._key, _PARTITION, None, None, _NOW, headers

    def newest(self, client: Client, *, settled: bool) -> Noted | None:
        """What is noted of the pipeline, None where nothing is.

        Args:
            client: whose waits and errors are told.
            settled: transactions that are open are waited for; of this pipeline there is none any more.

        Raises:
            HangingError: there is one nevertheless.
            SinkError: the topic cannot be read, or what is noted is damaged.
        """
        wait = client.wait(f"Kafka to give the offsets in topic {self.name}")
        # A transaction that is open holds back what a reader of committed records is given; the end without it says how
        # far to wait.
        end = self._end(client, wait.still) if settled else 0
        while True:
            try:
                found = self._newest(client, end, wait.still)
            except _HeldBackError as held:
                self._require_anothers(client, held.begin, end, wait.still)
            else:
                wait.over()
                return None if found is None else self._parsed(found)

    def _newest(self, client: Client, end: int, still: Callable[[int], None]) -> bytes | None:
        found: bytes | None = None
        with self._reader(client, OFFSET_BEGINNING) as consumer:
            for message in self._records(consumer, end, still):
                found = message.value() if message.key() == self._key else found
        return found

    def _require_anothers(self, client: Client, begin: int, end: int, still: Callable[[int], None]) -> None:
        """Does nothing where what is open is of a pipeline that shares the topic: it ends by itself."""
        with self._reader(client, begin, committed=False) as consumer:
            left = [(message.key(), _written(message)) for message in self._records(consumer, end, still)]
        if left and left[0][0] == self._key:
            raise HangingError(self.name, [topics for key, topics in left if key == self._key])

    @contextmanager
    def _reader(self, client: Client, begins: int, *, committed: bool = True) -> Iterator[Consumer]:
        settings = consumer_settings(self._settings, committed=committed)
        with closing(open_consumer(settings, client.errors)) as consumer:
            consumer.assign([TopicPartition(self.name, _PARTITION, begins)])
            yield consumer

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

    def _records(self, consumer: Consumer, end: int, still: Callable[[int], None]) -> Iterator[Message]:
        """The records up to there.

        Raises:
            _HeldBackError: those that are given have ended earlier for a while.
            SinkError: as `newest`.
        """
        ended: tuple[int, float] | None = None
        while True:
            message = consumer.poll(_STEP_SECONDS)
            error = None if message is None else message.error()
            if message is None:
                if ended is not None and time.monotonic() - ended[1] >= _SETTLING_SECONDS:
                    raise _HeldBackError(ended[0])
                still(1)
            elif error is None:
                ended = None
                yield message
            elif error.code() != KafkaError._PARTITION_EOF:
                self._require_passing(error)
                still(1)
            # The end of the partition is told with its place, behind markers of transactions, too, which are no
            # messages.
            elif (message.offset() or 0) >= end:
                return
            else:
                ended = message.offset() or 0, time.monotonic()

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


def _written(message: Message) -> list[str] | None:
    """The topics that a transaction has written to, by the record that ends it; None where it does not say."""
    for name, value in list(message.headers() or ()):
        if name == _TOPICS and isinstance(value, bytes):
            return list(json.loads(value))
    return None


_LASTING = frozenset(
    (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.TOPIC_EXCEPTION,
    )
)
