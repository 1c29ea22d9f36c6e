"""The sink `kafka`: messages to topics through librdkafka's idempotent producer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from cdckit import POSITION_HEADER, EncodedHeaders, Finding, Messages, QueueFill, Sink, SinkContext, SinkError
from cdckit.kafka import ClientErrors, open_admin, open_producer
from cdckit.waiting import answer_of
from cdckit_kafka.checks import findings
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.refusals import Refusal, Refusals, fatal_sentence
from cdckit_kafka.set_aside import Report, SetAside
from cdckit_kafka.settings import CLIENT_OPTIONS, admin_settings, producer_settings
from cdckit_kafka.topics import Topics
from cdckit_kafka.waiting import Wait

_STEP_SECONDS = 0.2
_ANSWER_SECONDS = 1.0
_ANY_PARTITION = -1
_NOW = 0
_BATCH_SIZE = 1_000_000
"""librdkafka's default of `batch.size`."""

Produced = tuple[str, bytes | None, bytes | None, int, Report | None, None, int, list[Any]]
"""The arguments of `Producer.produce`: topic, value, key, partition, callbacks, timestamp, headers."""


class KafkaSink(Sink):
    """Writes each message to its topic; `flush` returns once the brokers have acknowledged all of them.

    Messages of one key stay in order: the partition is the one that the Java producer chooses, and the producer is
    idempotent, so that sending again neither doubles nor reorders.
    """

    in_tasks: ClassVar[bool] = True

    def __init__(self, config: KafkaSinkConfig) -> None:
        self._config = config
        self._producer: Producer | None = None

    @classmethod
    def check(cls, config: KafkaSinkConfig) -> Sequence[Finding]:
        """What `cdc validate --connect` finds."""
        return list(findings(config))

    def open(self, context: SinkContext) -> None:
        """Connects, and waits for a broker where none answers.

        Raises:
            ConfigError: librdkafka refuses an option.
            SinkError: credentials or certificates are refused, or, in a run that ends by itself, no broker answered
                within `timeout`.
        """
        self._context = context
        self._settings = producer_settings(self._config, f"cdckit-{context.name}")
        self._refusals = Refusals()
        self._aside = self._made_aside(context)
        self._errors = ClientErrors(CLIENT_OPTIONS, self._settings)
        self._topics = Topics(self._config.topic_rules, self._administrator, self._wait)
        reports = {"on_delivery": self._refusals.report, "delivery.report.only.error": True}
        self._producer = open_producer(self._settings, self._errors, reports)
        self._topics.exist(self._existing_topics(self._producer))

    def write(self, messages: Messages) -> None:
        """Takes a batch; creates topics that are missing, and waits while the buffer is full.

        Raises:
            SinkError: a topic cannot be created, or this or an earlier message was refused.
        """
        producer = self._opened()
        if self._config.topic_creation_enable:
            self._topics.ensure(messages.topics)
        if self._aside is None:
            self._produce(producer, messages, None)
        else:
            for part, report in self._aside.parts(messages):
                self._produce(producer, part, report)
        self._served(producer.poll, 0)

    def flush(self) -> None:
        """Returns once every message is acknowledged.

        Raises:
            SinkError: one was refused; or, in a run that ends by itself or is stopping, nothing came for too long.
        """
        producer = self._opened()
        wait = self._wait("Kafka to acknowledge records")
        while left := self._served(producer.flush, _STEP_SECONDS):
            wait.still(left)
        wait.over()
        self._errors.clear()

    def queue_fill(self) -> QueueFill | None:
        """How many messages wait for their acknowledgement in librdkafka's buffer."""
        producer = self._producer
        if producer is None:
            return None
        return QueueFill(
            len(producer),
            int(self._settings["queue.buffering.max.messages"]),
            int(self._settings["queue.buffering.max.kbytes"]) * 1024,
        )

    def close(self) -> None:
        """Drops what is not acknowledged, and all connections."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge(blocking=False)

    def _served(self, wait: Callable[[float], int], seconds: float) -> int:
        """Lets the client tell what has happened, and raises what ends it; the answer of `wait`."""
        try:
            answer = wait(seconds)
        except KafkaException as error:
            self._errors.report(error.args[0])
            self._check()
            raise SinkError(f"the Kafka client failed: {error.args[0].str()}") from None
        self._check()
        self._refusals.check()
        return answer

    def _check(self) -> None:
        """Does nothing while the client can go on."""
        if (fatal := self._errors.fatal) is not None:
            raise SinkError(fatal_sentence(fatal))

    def _made_aside(self, context: SinkContext) -> SetAside | None:
        if context.refused is None:
            return None
        alone_from = int(self._settings.get("batch.size", _BATCH_SIZE))
        return SetAside(context.refused, self._refusals, context.around_position, alone_from)

    def _produce(self, producer: Producer, messages: Messages, report: Report | None) -> None:
        produce = producer.produce
        before, behind = self._context.around_position
        shared: EncodedHeaders | None = None
        plain: list[Any] = []
        positioned: list[Any] = []
        for topic, partition, key, value, headers, position, timestamp in zip(
            messages.topics,
            messages.partitions,
            messages.keys,
            messages.values,
            messages.headers,
            messages.positions,
            messages.timestamps,
            strict=True,
        ):
            if headers is not shared:
                shared = headers
                plain = [*headers]
                positioned = [*headers, None]
            if position:
                positioned[-1] = (POSITION_HEADER, before + position + behind if before else position)
            produced: Produced = (
                topic,
                value,
                key,
                _ANY_PARTITION if partition is None else partition,
                report,
                None,
                _NOW if timestamp is None else timestamp,
                positioned if position else plain,
            )
            try:
                produce(*produced)
            except BufferError:
                self._produce_when_there_is_room(producer, produced)
            except KafkaException as error:
                self._refuse(producer, produced, error)

    def _produce_when_there_is_room(self, producer: Producer, produced: Produced) -> None:
        wait = self._wait("Kafka to acknowledge records")
        while True:
            self._served(producer.poll, _STEP_SECONDS)
            left = len(producer)
            wait.still(left)
            try:
                return producer.produce(*produced)
            except BufferError as error:
                if not left:
                    return self._refuse(producer, produced, error)
            except KafkaException as error:
                return self._refuse(producer, produced, error)

    def _refuse(self, producer: Producer, produced: Produced, error: KafkaException | BufferError) -> None:
        """Fails for a message that the client itself does not take, or for what kept it from taking it.

        One that will never fit is set aside where the runner wants that.
        """
        self._served(producer.poll, 0)
        topic, value, key, partition, *_ = produced
        size = len(key or b"") + len(value or b"")
        refusal = Refusal(topic, partition, key, size, error)
        if self._aside is None or not refusal.never_fits:
            raise SinkError(refusal.sentence()) from None
        self._aside.give(produced, refusal.sentence())

    def _existing_topics(self, producer: Producer) -> list[str]:
        wait = self._wait("a Kafka broker to answer")
        while True:
            try:
                found = answer_of(lambda: list(producer.list_topics(timeout=_ANSWER_SECONDS).topics))
            except KafkaException:
                self._served(producer.poll, 0)
            else:
                wait.over()
                return found
            if self._errors.refused():
                raise SinkError(f"cannot log in to Kafka ({self._config.bootstrap_servers}): {self._errors.reason()}")
            wait.still(1)

    def _administrator(self) -> AdminClient:
        return open_admin(admin_settings(self._settings), self._errors)

    def _opened(self) -> Producer:
        if self._producer is None:
            raise SinkError("the Kafka sink is not open")
        return self._producer

    def _wait(self, what: str) -> Wait:
        where = f"{what} ({self._config.bootstrap_servers})"
        return Wait(where, self._patience, self._context.stopping, self._errors.reason)

    def _patience(self) -> float | None:
        """For how many seconds nothing may come; None: without end."""
        return self._config.timeout if self._context.once or self._errors.refused() else None
