"""Signals from a Kafka topic with one partition: messages whose key is the source's `topic.prefix`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from cdckit.connector.signals.channels import SignalChannel
from cdckit.connector.signals.options import SignalOptions
from cdckit.connector.signals.signal import Signal, one_line, parse
from cdckit.errors import ConfigError, RetriableSourceError, SourceError
from cdckit.kafka import ClientErrors, ClientOptions, KafkaClientError, ask, client_log, open_consumer
from cdckit.waiting import ended_by_stop, let_go

if TYPE_CHECKING:
    from confluent_kafka import Message, TopicPartition

Answer = TypeVar("Answer")

log = logging.getLogger("cdckit.signals")

_OPTIONS = ClientOptions(
    "signal.consumer", "signal.kafka.bootstrap.servers", patience="signal.consumer.socket.timeout.ms"
)
_COMMITS = "offset.commit.enabled"
_ANSWERS = "socket.timeout.ms"
_ANSWERS_MS = "10000"
"""How long an answer is waited for, unless that property of the consumer's says it."""
_MOST = 100
_SLICE = 0.2
"""For so many seconds the client waits, deaf to a stop."""


class KafkaChannel(SignalChannel):
    """Reads the topic, from its end on or, with `signal.consumer.offset.commit.enabled`, from where it was.

    Args:
        config: the options.
        topic_prefix: the source's, which the messages' keys must be.
    """

    def __init__(self, config: SignalOptions, topic_prefix: str) -> None:
        self._prefix = topic_prefix
        self._topic = config.signal_kafka_topic or f"{topic_prefix}-signal"
        self._seconds = config.signal_kafka_poll_timeout_ms / 1000
        properties = dict(config.signal_client.settings)
        self._answers = _milliseconds(properties.setdefault(_ANSWERS, _ANSWERS_MS)) / 1000
        self._commits = properties.pop(_COMMITS, "false").lower() == "true"
        settings = {
            "bootstrap.servers": config.signal_kafka_bootstrap_servers,
            "group.id": config.signal_kafka_group_id,
            "enable.auto.commit": "false",
            **properties,
        }
        self._errors = ClientErrors(_OPTIONS, settings)
        self._consumer = open_consumer(settings, self._errors)
        self._next: TopicPartition | None = None
        self._assign()

    def _assign(self) -> None:
        try:
            self._consumer.assign([self._place()])
        except KafkaClientError as fault:
            kind = SourceError if fault.lasting else RetriableSourceError
            raise kind(f"signal.kafka.topic: {self._topic} cannot be read: {fault}") from fault

    def _place(self) -> TopicPartition:
        """Where to read from."""
        from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, TopicPartition  # noqa: PLC0415

        place, consumer, wait = TopicPartition(self._topic, 0), self._consumer, self._answers
        found = self._asked(lambda: consumer.list_topics(self._topic, timeout=wait)).topics[self._topic]
        if found.error is not None and (fault := self._errors.fault(found.error)).lasting:
            raise fault
        if len(found.partitions) > 1:
            raise ConfigError(
                f"signal.kafka.topic: {self._topic} has {len(found.partitions)} partitions, and signals have an "
                "order: make one with a single partition"
            )
        if self._commits:
            [committed] = self._asked(lambda: consumer.committed([place], timeout=wait))
            # Without a commit the topic's begin: a signal may have been sent before the pipeline first ran.
            place.offset = committed.offset if committed.offset >= 0 else OFFSET_BEGINNING
        elif found.error is None:
            # The end as a number, not `OFFSET_END`: that is looked up at the first poll, and what is sent until then is
            # lost.
            place.offset = self._asked(lambda: consumer.get_watermark_offsets(place, timeout=wait))[1]
        else:
            place.offset = OFFSET_END
        return place

    def _asked(self, call: Callable[[], Answer]) -> Answer:
        return ask(self._errors, self._consumer.poll, call)

    def poll(self) -> list[Signal]:
        """The signals of the messages that came."""
        until, found = time.monotonic() + self._seconds, []
        messages = self._consumed(until)
        while not messages and time.monotonic() < until:
            messages = self._consumed(until)
        for message in messages:
            found += self._signals(message)
        return found

    def _consumed(self, until: float) -> list[Message]:
        with ended_by_stop():
            return self._consumer.consume(_MOST, timeout=min(_SLICE, max(0.0, until - time.monotonic())))

    def _signals(self, message: Message) -> list[Signal]:
        from confluent_kafka import TopicPartition  # noqa: PLC0415

        if (error := message.error()) is not None:
            client_log.warning("%s: %s", self._topic, self._errors.fault(error))
            return []
        offset = message.offset() or 0
        self._next = TopicPartition(self._topic, 0, offset + 1)
        if (message.key() or b"").decode("utf-8", "replace") != self._prefix:
            return []
        try:
            members = parse(message.value() or b"null")
            return [Signal.of(members.get("id", ""), members["type"], members.get("data"))]
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            log.warning("%s: the message at %d is no signal: %s", self._topic, offset, one_line(error))
            return []

    def committed(self) -> None:
        """Notes how far the topic has been read."""
        if self._commits and self._next is not None:
            # Behind the saved offset of the source: a crash in between brings a signal twice, never not at all.
            self._consumer.commit(offsets=[self._next], asynchronous=True)
        self._next = None

    def close(self) -> None:
        """Lets the connection go."""
        let_go(self._consumer.close)


def _milliseconds(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"signal.consumer.{_ANSWERS}: '{text}' is no number of milliseconds")
    return int(text)
