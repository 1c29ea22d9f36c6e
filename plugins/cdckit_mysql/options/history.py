"""Options: the schema history."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from cdckit import PluginConfig
from cdckit.kafka import CONSUMER, PRODUCER, ClientProperties, ClientSettings, from_java_or_librdkafka

CONSUMER_OPTIONS = "schema.history.internal.consumer"
PRODUCER_OPTIONS = "schema.history.internal.producer"

_CLASSES = re.compile(r"(.+\.)?(Kafka|File|Memory)(Schema|Database)History")
"""Debezium's, which keep the history where a worker or its Kafka keeps other things, too."""


def _place(value: object) -> object:
    """`state` for those classes; what another class keeps elsewhere is not kept there.

    Raises:
        ValueError: it is such a class.
    """
    if not isinstance(value, str) or not value.endswith("History"):
        return value
    if not _CLASSES.fullmatch(value):
        raise ValueError(
            f"the schema history is in the pipeline's `state`, not where {value} keeps it, with a copy in Kafka where "
            "schema.history.internal=kafka asks for one: remove it"
        )
    return "state"


HistoryPlace = Annotated[Literal["state", "kafka"], BeforeValidator(_place)]


class HistoryOptions(PluginConfig):
    """The schema history."""

    schema_history_internal: HistoryPlace = "state"
    """Where the history is kept: in the pipeline's `state` alone, or in a `kafka` topic as well, in Debezium's
    documents, for who takes over. Debezium's classes for Kafka, files and memory mean `state`.
    """
    schema_history_internal_kafka_bootstrap_servers: str = ""
    """The brokers of that topic."""
    schema_history_internal_kafka_topic: str = ""
    """The topic's name. It is made, with one partition and without end of its messages' life, where it is not there."""
    schema_history_internal_kafka_query_timeout_ms: PositiveInt = 3_000
    """How long to wait, in milliseconds, for what Kafka knows of that topic."""
    schema_history_internal_kafka_create_timeout_ms: PositiveInt = 30_000
    """How long to wait, in milliseconds, until that topic is made, and until it has what is written to it."""
    schema_history_internal_kafka_recovery_poll_interval_ms: PositiveInt = 100
    """How long to wait, in milliseconds, each time that a record of that topic is asked for …"""
    schema_history_internal_kafka_recovery_attempts: PositiveInt = 100
    """… and how many times in a row without one, before the topic counts as one that cannot be read."""
    schema_history_internal_producer: ClientProperties = Field(default_factory=dict, repr=False)
    """More properties of that topic's producer, in librdkafka's words or Java's."""
    schema_history_internal_consumer: ClientProperties = Field(default_factory=dict, repr=False)
    """The same of its consumer; where there are none, those of the producer."""
    schema_history_internal_store_only_captured_databases_ddl: bool = False
    """Whether only the captured databases' definitions are kept."""
    schema_history_internal_store_only_captured_tables_ddl: bool = False
    """Whether only the captured tables' definitions are kept."""
    schema_history_internal_skip_unparseable_ddl: bool = False
    """Whether a statement that cannot be read is passed over, instead of stopping the pipeline."""

    @model_validator(mode="after")
    def _topic_is_named(self) -> Self:
        if self.schema_history_internal == "kafka":
            for part in ("bootstrap_servers", "topic"):
                if not getattr(self, f"schema_history_internal_kafka_{part}"):
                    option = f"schema.history.internal.kafka.{part.replace('_', '.')}"
                    raise ValueError(f"schema.history.internal=kafka needs {option}")
            _ = self.history_producer, self.history_consumer
        return self

    def remarks(self) -> list[str]:
        """What is left out: all that concerns the topic where there is none, else properties of its clients."""
        if self.schema_history_internal == "kafka":
            said = self.history_producer.remarks(PRODUCER_OPTIONS)
            said += self.history_consumer.remarks(CONSUMER_OPTIONS) if self.schema_history_internal_consumer else []
            return super().remarks() + said
        given = [f"{PRODUCER_OPTIONS}.{name}" for name in self.schema_history_internal_producer]
        given += [f"{CONSUMER_OPTIONS}.{name}" for name in self.schema_history_internal_consumer]
        topic = self.schema_history_internal_kafka_topic
        if not given and not topic:
            return super().remarks()
        left_out = f"; left out: {', '.join(given)}" if given else ""
        return [
            *super().remarks(),
            "the schema history is in the pipeline's `state`; schema.history.internal=kafka keeps a copy in "
            f"{topic or 'a topic'}{left_out}",
        ]

    @property
    def history_producer(self) -> ClientSettings:
        """`schema.history.internal.producer.*`, translated.

        Raises:
            ValueError: one of them cannot be had here.
        """
        return from_java_or_librdkafka(self.schema_history_internal_producer, PRODUCER, PRODUCER_OPTIONS)

    @property
    def history_consumer(self) -> ClientSettings:
        """`schema.history.internal.consumer.*`, or `….producer.*` where none is given, translated; as above."""
        own = self.schema_history_internal_consumer
        return from_java_or_librdkafka(own, CONSUMER, CONSUMER_OPTIONS) if own else self.history_producer
