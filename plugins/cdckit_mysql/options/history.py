"""Options: the schema history."""

from __future__ import annotations

import logging
import re
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from cdckit import PluginConfig

log = logging.getLogger("cdckit.config")

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
    schema_history_internal_producer: dict[str, str] = Field(default_factory=dict)
    """More properties of that topic's producer, in librdkafka's words."""
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
        elif self.schema_history_internal_kafka_topic:
            log.warning(
                "the schema history is in the pipeline's `state`; schema.history.internal=kafka keeps a copy in %s",
                self.schema_history_internal_kafka_topic,
            )
        return self
