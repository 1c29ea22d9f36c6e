"""Options of the sink `kafka`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PositiveFloat, PositiveInt, field_validator, model_validator

from cdckit import Dataset, PluginConfig
from cdckit.kafka import PRODUCER, ClientProperties, ClientSettings, Named, Text, from_java, of_every_client
from cdckit_kafka.topic_rules import BROKER_DEFAULT, TopicRules, partition_count, split_list

_ONE_REQUEST = "cannot be changed: with more than one request under way records are lost; remove it"

_JAVAS = (
    "sasl.jaas.config",
    "ssl.keystore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)
_ALL = ("all", "-1")
_OWN_SETTINGS: Mapping[str, str] = {
    "bootstrap.servers": "is the sink's own option: write `bootstrap.servers`",
    "metadata.broker.list": "is the sink's own option: write `bootstrap.servers`",
    "acks": "is the sink's own option: write `acks`",
    "request.required.acks": "is the sink's own option: write `acks`",
    "enable.idempotence": "is the sink's own option: write `enable.idempotence`",
    "allow.auto.create.topics": "follows from the sink's own option `topic.creation.enable`",
    "delivery.report.only.error": "cannot be changed: the sink relies on it",
    "max.in.flight": _ONE_REQUEST,
    "max.in.flight.requests.per.connection": _ONE_REQUEST,
    "transactional.id": "is the sink's own option: write `transactional.id`",
    **{name: f"is the Java producer's: write `producer.{name}`" for name in _JAVAS},
}
"""librdkafka's settings which are not passed through, and what to do instead."""


def _comma_separated(value: Any) -> Any:
    return ",".join(str(item) for item in value) if isinstance(value, list | tuple) else value


def _guarantee(value: Any) -> Any:
    """Kafka Connect's words, too: `requested` asks for it where it is on already, which it is not by default."""
    return {"required": "exactly-once", "requested": "at-least-once"}.get(str(value).lower(), value)


Names = Annotated[str, BeforeValidator(_comma_separated)]
_OVERRIDE = "override."
_TRANSACTION_TIMEOUT = "transaction.timeout.ms"
Count = Annotated[int, BeforeValidator(partition_count)]


class KafkaSinkConfig(PluginConfig):
    """Options of the sink `kafka`."""

    stand_ins: ClassVar[Mapping[str, str]] = {"exactly.once.support": "delivery.guarantee"}
    for_the_serializer: ClassVar[Mapping[str, str]] = {"header.format": "simple"}
    """Kafka Connect's default, which most readers of topics expect."""

    bootstrap_servers: Names = Field(min_length=1)
    """The brokers to ask first: `host:port`, several separated by commas."""
    acks: Annotated[Literal["all", "-1", "1"], BeforeValidator(str)] = "all"
    """Who must hold a record before it counts as delivered: `all` in-sync replicas, or `1`, the leader alone.

    `1` also turns `enable.idempotence` off.
    """
    enable_idempotence: bool = True
    """Whether the broker recognises a record that is sent again after a lost answer. Without it such a record may
    arrive twice; order holds either way, as one request at a time is under way to each broker.
    """
    delivery_guarantee: Annotated[Literal["at-least-once", "exactly-once"], BeforeValidator(_guarantee)] = (
        "at-least-once"
    )
    """What arrives after a crash: every record, some again (`at-least-once`), or every record once (`exactly-once`) for
    readers with `isolation.level=read_committed`, by transactions that carry the offset.
    """
    transactional_id: str | None = None
    """With `exactly-once`: the producer's, of which one process at a time may write. By default `cdckit-NAME`, of the
    pipeline's name.
    """
    offset_topic: str | None = None
    """With `exactly-once`: the topic that keeps the offset, which is created with one partition, compacted. By default
    `cdckit-offsets-NAME`.
    """
    transaction_boundary: Literal["poll", "interval"] = "poll"
    """With `exactly-once`: when a transaction ends: after each batch that the source gives (`poll`), or after
    `transaction.boundary.interval.ms`.
    """
    transaction_boundary_interval_ms: PositiveInt = 1000
    """With `transaction.boundary: interval`: for how many milliseconds batches are gathered."""
    timeout: PositiveFloat = 60.0
    """For how many seconds nothing may be acknowledged before a run with `--once` ends with an error. Without
    `--once` the sink waits as long as it takes. Refused credentials end both after this time.
    """
    topic_creation_enable: bool = True
    """Whether the sink creates topics that do not exist. Existing topics are never changed."""
    topic_creation_default_partitions: Count = BROKER_DEFAULT
    """How many partitions a created topic gets; `-1` leaves it to the broker's `num.partitions`."""
    topic_creation_default_replication_factor: Count = BROKER_DEFAULT
    """How many replicas a created topic gets; `-1` leaves it to the broker's `default.replication.factor`."""
    topic_creation_groups: Names = ""
    """Groups of topics that are created differently, by name, separated by commas; the first that fits counts.

    Each has `topic.creation.GROUP.include` and `.exclude` (regular expressions of whole topic names, separated by
    commas), and may have `.partitions`, `.replication.factor` and settings of its topics.
    """
    topic_creation: dict[str, Text] = Field(default_factory=dict)
    """`topic.creation.default.SETTING` and `topic.creation.GROUP.SETTING`: any setting of a Kafka topic, such as
    `cleanup.policy` or `retention.ms`, for the topics that the sink creates.
    """
    kafka: ClientProperties = Field(default_factory=dict, repr=False)
    """Any option of librdkafka, such as `kafka.security.protocol`, `kafka.sasl.password`, `kafka.linger.ms` or
    `kafka.message.max.bytes`. These win over all others.
    """
    producer: ClientProperties = Field(default_factory=dict, repr=False)
    """Options of Kafka's Java producer, as connectors have them (`producer.override.linger.ms`): translated to
    librdkafka's where it has the like, else left out with a warning.
    """

    @field_validator("bootstrap_servers")
    @classmethod
    def _trimmed(cls, servers: str) -> str:
        trimmed = ",".join(split_list(servers))
        if not trimmed:
            raise ValueError("names no broker; give host:port")
        return trimmed

    @field_validator("kafka")
    @classmethod
    def _not_the_sinks_own(cls, kafka: dict[str, str]) -> dict[str, str]:
        faults = [f"'{name}' {_OWN_SETTINGS[name]}" for name in kafka if name in _OWN_SETTINGS]
        if faults:
            raise ValueError("; ".join(faults))
        return kafka

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _ = self.topic_rules
        problems = self.java_options.problems(self.kafka)
        if problems:
            raise ValueError("; ".join(problems))
        self._check_acks()
        if self.exactly_once:
            self._check_transactions()
        return self

    def _check_acks(self) -> None:
        acks = self.chosen_acks
        if acks not in (*_ALL, "1"):
            raise ValueError(f"acks={acks} would lose records unnoticed: use acks=all")
        if acks == "1" and self._idempotence_wish is True:
            raise ValueError("enable.idempotence needs acks=all: change one of the two")

    def _check_transactions(self) -> None:
        at = "delivery.guarantee: exactly-once"
        if self.chosen_acks not in _ALL or not self.idempotent:
            raise ValueError(f"{at} needs acks=all and enable.idempotence=true: change one of the options")
        if self.transaction_interval_ms is not None and 2 * self.transaction_interval_ms > self.transaction_timeout_ms:
            raise ValueError(
                "transaction.boundary.interval.ms should be half of kafka.transaction.timeout.ms "
                f"({self.transaction_timeout_ms}) at the most"
            )

    @property
    def exactly_once(self) -> bool:
        """Whether records and offset go into transactions."""
        return self.delivery_guarantee == "exactly-once"

    @property
    def transaction_timeout_ms(self) -> int:
        """How long a transaction may last before the brokers abort it."""
        java = self.java_options.settings.get(_TRANSACTION_TIMEOUT, "60000")
        return int(self.kafka.get(_TRANSACTION_TIMEOUT, java))

    @property
    def transaction_interval_ms(self) -> int | None:
        """For how long batches are gathered; None: each has a transaction of its own."""
        return self.transaction_boundary_interval_ms if self.transaction_boundary == "interval" else None

    def dataset(self, name: str) -> Dataset:
        """The topic, of the broker that is named first."""
        return Dataset(f"kafka://{next(iter(split_list(self.bootstrap_servers)))}", name, "STREAM")

    def identity(self) -> dict[str, str | list[str]]:
        """The brokers, of which one that is asked still makes it the same cluster."""
        return {"bootstrap.servers": list(split_list(self.bootstrap_servers))}

    def broker_settings(self) -> dict[str, str]:
        """The brokers, and what the producer is told to reach them."""
        return {
            **of_every_client({**self.java_options.settings, **self.kafka}),
            "bootstrap.servers": self.bootstrap_servers,
        }

    @property
    def java_options(self) -> ClientSettings:
        """What `producer` says, in librdkafka's words; of two, `producer.override.NAME` wins over `producer.NAME`."""
        plain = {name: value for name, value in self.producer.items() if not name.startswith(_OVERRIDE)}
        over = {name.removeprefix(_OVERRIDE): v for name, v in self.producer.items() if name.startswith(_OVERRIDE)}
        return from_java(plain | over, PRODUCER, Named("producer", "kafka"))

    @property
    def chosen_acks(self) -> str:
        """`acks`, unless only the Java producer's says something."""
        java = self.java_options.settings.get("acks")
        return self.acks if java is None or "acks" in self.model_fields_set else java

    @property
    def idempotent(self) -> bool:
        """Whether the producer is; where nobody has said so, `acks` decides."""
        wish = self._idempotence_wish
        return self.chosen_acks in _ALL if wish is None else wish

    @property
    def _idempotence_wish(self) -> bool | None:
        """What the user asked for, or None."""
        if "enable_idempotence" in self.model_fields_set:
            return self.enable_idempotence
        java = self.java_options.settings.get("enable.idempotence")
        return None if java is None else java.lower() == "true"

    @property
    def topic_rules(self) -> TopicRules:
        """How each topic is created."""
        return TopicRules.configured(
            split_list(self.topic_creation_groups),
            self.topic_creation,
            self.topic_creation_default_partitions,
            self.topic_creation_default_replication_factor,
        )

    @classmethod
    def load(cls, options: Mapping[str, Any], where: str, **how: Any) -> tuple[Self, list[str]]:
        """As every component's, with warnings about what has no meaning to librdkafka or fits no group."""
        config, warnings = super().load(options, where, **how)
        at = f"{where}: " if where else ""
        if untranslated := config.java_options.untranslated:
            given = sorted(name for name in config.producer if name.removeprefix(_OVERRIDE) in untranslated)
            names = ", ".join(f"producer.{name}" for name in given)
            warnings.append(f"{at}options of the Java producer without a counterpart here, left out: {names}")
        if strays := config.topic_rules.strays:
            names = ", ".join(f"topic.creation.{name}" for name in strays)
            warnings.append(f"{at}options of groups that topic.creation.groups does not list, left out: {names}")
        return config, warnings
