"""Options of the state store `kafka`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from cdckit import IgnoredOptions, PluginConfig
from cdckit.kafka import CONSUMER, PRODUCER, ClientOptions, ClientProperties, from_java_or_librdkafka

PROPERTIES = "state.kafka"
CLIENT_OPTIONS = ClientOptions(PROPERTIES, "state.bootstrap.servers", "state.timeout.ms")
_NAME = r"^[A-Za-z0-9._-]{1,249}$"


class KafkaStateConfig(PluginConfig):
    """Options of the state store `kafka`."""

    of_the_worker: ClassVar[Mapping[str, str]] = {
        r"bootstrap\.servers": "",
        r"(security\.protocol|sasl\..+|ssl\..+)": "kafka.",
    }
    ignored_options: ClassVar[tuple[IgnoredOptions, ...]] = (
        IgnoredOptions(r"partitions", "all of a state is in the first partition of its topics: only that has an order"),
    )

    bootstrap_servers: Annotated[str, Field(min_length=1)]
    """The brokers to ask first: `host:port`, several separated by commas."""
    topic: Annotated[str, Field(pattern=_NAME)] = "cdckit-state"
    """The topic of offsets and of other values. It is made, compacted, where it is not there; what others write to it
    is passed over.
    """
    history_topic: Annotated[str, Field(pattern=_NAME)] | None = None
    """The topic of schema histories, the same way; by default the name of `topic`, with `-history` behind it."""
    replication_factor: Annotated[int, Field(ge=-1)] = -1
    """How many replicas a topic gets that is made; `-1` leaves it to the broker's `default.replication.factor`."""
    timeout_ms: Annotated[int, Field(ge=1000)] = 30000
    """How long to wait, in milliseconds, for Kafka's answers, and for a save to be acknowledged."""
    hold_timeout_ms: Annotated[int, Field(ge=1000)] = 10000
    """How long, in milliseconds, a pipeline holds its state without a sign of life, as when its process was killed.
    Brokers take from 6000 on, unless their `group.min.session.timeout.ms` says otherwise.
    """
    kafka: ClientProperties = Field(default_factory=dict, repr=False)
    """More properties of the clients, such as `kafka.security.protocol` and `kafka.sasl.password`, in librdkafka's
    words or Java's.
    """

    @model_validator(mode="after")
    def _client_can_be_had(self) -> Self:
        _ = self.producer_settings, self.consumer_settings
        if self.topic == self.histories:
            raise ValueError("history.topic should be another one than topic")
        return self

    def remarks(self) -> list[str]:
        """Properties that are left out."""
        found = from_java_or_librdkafka(self.kafka, PRODUCER, PROPERTIES).remarks(PROPERTIES)
        return [*super().remarks(), *found]

    @property
    def histories(self) -> str:
        """The name of the topic of histories."""
        return self.history_topic or f"{self.topic}-history"

    @property
    def producer_settings(self) -> dict[str, str]:
        """The settings of a producer, librdkafka's, as far as the user says them.

        Raises:
            ValueError: a property cannot be had here.
        """
        return {**from_java_or_librdkafka(self.kafka, PRODUCER, PROPERTIES).settings, **self._servers}

    @property
    def consumer_settings(self) -> dict[str, str]:
        """The same of a consumer."""
        return {**from_java_or_librdkafka(self.kafka, CONSUMER, PROPERTIES).settings, **self._servers}

    @property
    def _servers(self) -> dict[str, str]:
        return {"bootstrap.servers": self.bootstrap_servers}
