"""The sink `kafka`: messages to topics through librdkafka's idempotent producer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from confluent_kafka import KafkaError, KafkaException

from cdckit import (
    POSITION_HEADER,
    EncodedHeaders,
    Finding,
    HeldMessages,
    Messages,
    QueueFill,
    Sink,
    SinkContext,
    SinkError,
)
from cdckit_kafka.checks import findings
from cdckit_kafka.client import Client
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.ends import Ends, ends_now
from cdckit_kafka.reading import held_messages, held_to
from cdckit_kafka.refusals import Refusal
from cdckit_kafka.set_aside import Report, SetAside
from cdckit_kafka.settings import producer_settings
from cdckit_kafka.topic_checks import topic_findings
from cdckit_kafka.topics import Topics
from cdckit_kafka.transactions import KafkaTransactions

_STEP_SECONDS = 0.2
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
    tells_ends: ClassVar[bool] = True
    reads_bytes: ClassVar[bool] = True

    def __init__(self, config: KafkaSinkConfig) -> None:
        self._config = config
        self._client: Client | None = None
        self._transactions = KafkaTransactions(config, self._connect) if config.exactly_once else None

    @classmethod
    def check(cls, config: KafkaSinkConfig) -> Sequence[Finding]:
        """What `cdc validate --connect` finds."""
        return list(findings(config))

    @property
    def transactions(self) -> KafkaTransactions | None:
        """With `delivery.guarantee: exactly-once`."""
        return self._transactions

    @classmethod
    def check_topics(cls, config: KafkaSinkConfig, prefix: str, topics: Sequence[str]) -> Sequence[Finding]:
        """Whether the pipeline's topics keep the events, for `cdc doctor`."""
        return list(topic_findings(config, prefix, topics))

    def open(self, context: SinkContext) -> None:
        """Connects, and waits for a broker where none answers.

        Raises:
            ConfigError: librdkafka refuses an option.
            SinkError: credentials or certificates are refused, or, in a run that ends by itself, no broker answered
                within `timeout`.
        """
        self._context = context
        self._settings = producer_settings(self._config, context.name)
        client = self._connect()
        self._aside = self._made_aside(context)
        self._topics = Topics(
            self._config.topic_rules, lambda: self._opened().administrator(), lambda what: self._opened().wait(what)
        )
        existing = client.existing_topics()
        self._topics.exist(existing)
        if self._transactions is not None:
            self._transactions.open(context.name, self._settings, client, existing, resumes=context.resumes)

    def write(self, messages: Messages) -> None:
        """Takes a batch; creates topics that are missing, and waits while the buffer is full.

        Raises:
            SinkError: a topic cannot be created, or this or an earlier message was refused.
        """
        client = self._opened()
        if self._config.topic_creation_enable:
            self._topics.ensure(messages.topics)
        if self._transactions is not None and len(messages):
            self._transactions.begin()
        if self._aside is None:
            self._produce(client, messages, None)
        else:
            for part, report in self._aside.parts(messages):
                self._produce(client, part, report)
        client.served(client.producer.poll, 0)
        if self._transactions is not None and len(messages):
            self._transactions.wrote(messages.topics)

    def flush(self) -> None:
        """Returns once every message is acknowledged.

        Raises:
            SinkError: one was refused; or, in a run that ends by itself or is stopping, nothing came for too long.
        """
        self._opened().flush()

    def queue_fill(self) -> QueueFill | None:
        """How many messages wait for their acknowledgement in librdkafka's buffer."""
        client = self._client
        if client is None:
            return None
        return QueueFill(
            len(client.producer),
            int(self._settings["queue.buffering.max.messages"]),
            int(self._settings["queue.buffering.max.kbytes"]) * 1024,
        )

    def read_back(self, context: SinkContext, topics: Collection[str]) -> HeldMessages:
        """The topics from where they begin to where they end now, without what no transaction has committed."""
        return held_messages(self._config, context, topics)

    def ends(self, topics: Collection[str]) -> Ends | None:
        """As the brokers tell them; None where a message may be acknowledged before all replicas have it."""
        if self._config.chosen_acks == "1":
            return None
        return ends_now(self._settings, topics, self._config.timeout)

    def read_back_to(self, context: SinkContext, topics: Collection[str], ends: Ends) -> HeldMessages:
        """The topics up to there, without what no transaction has committed."""
        return held_to(self._config, context, topics, ends)

    def close(self) -> None:
        """Drops what is not acknowledged, and all connections."""
        client, self._client = self._client, None
        if client is None:
            return
        if self._transactions is not None:
            self._transactions.close()
        client.close()

    def _made_aside(self, context: SinkContext) -> SetAside | None:
        if context.refused is None:
            return None
        alone_from = int(self._settings.get("batch.size", _BATCH_SIZE))
        return SetAside(context.refused, self._opened().report, context.around_position, alone_from)

    def _produce(self, client: Client, messages: Messages, report: Report | None) -> None:
        produce = client.producer.produce
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
            # Messages of a batch share their headers: the list is made once, and of each message only the position is
            # put in.
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
                self._produce_when_there_is_room(client, produced)
            except KafkaException as error:
                self._refuse(client, produced, error)

    def _produce_when_there_is_room(self, client: Client, produced: Produced) -> None:
        producer = client.producer
        wait = client.wait("Kafka to acknowledge records")
        while True:
            client.served(producer.poll, _STEP_SECONDS)
            left = len(producer)
            wait.still(left)
            try:
                return producer.produce(*produced)
            except BufferError as error:
                # With an empty queue there is always room: this message alone is larger than it.
                if not left:
                    return self._refuse(client, produced, error)
            except KafkaException as error:
                return self._refuse(client, produced, error)

    def _refuse(self, client: Client, produced: Produced, error: KafkaException | BufferError) -> None:
        """Fails for a message that the client itself does not take, or for what kept it from taking it.

        One that will never fit is set aside where the runner wants that.
        """
        client.served(client.producer.poll, 0)
        if isinstance(error, KafkaException) and error.args[0].code() == KafkaError._STATE:
            raise client.failure(error.args[0]) from None
        topic, value, key, partition, *_ = produced
        size = len(key or b"") + len(value or b"")
        refusal = Refusal(topic, partition, key, size, error)
        if self._aside is None or not refusal.never_fits:
            raise SinkError(refusal.sentence(), number=refusal.number) from None
        self._aside.give(produced, refusal.sentence())

    def _connect(self) -> Client:
        lost = None if self._transactions is None else self._transactions.lost
        self._client = Client(self._config, self._context, self._settings, lost)
        return self._client

    def _opened(self) -> Client:
        if self._client is None:
            raise SinkError("the Kafka sink is not open")
        return self._client
