"""What librdkafka is told: its settings out of the sink's options.

Names and meanings are those of librdkafka's CONFIGURATION.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cdckit.kafka import ClientOptions

if TYPE_CHECKING:
    from cdckit_kafka.config import KafkaSinkConfig

_ONE_REQUEST = "cannot be changed: with more than one request under way records are lost; remove it"

_JAVAS = (
    "sasl.jaas.config",
    "ssl.keystore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)
CLIENT_OPTIONS = ClientOptions("sink.kafka", "sink.bootstrap.servers", "sink.timeout")

OWN_SETTINGS: Mapping[str, str] = {
    "bootstrap.servers": "is the sink's own option: write `bootstrap.servers`",
    "metadata.broker.list": "is the sink's own option: write `bootstrap.servers`",
    "acks": "is the sink's own option: write `acks`",
    "request.required.acks": "is the sink's own option: write `acks`",
    "enable.idempotence": "is the sink's own option: write `enable.idempotence`",
    "allow.auto.create.topics": "follows from the sink's own option `topic.creation.enable`",
    "delivery.report.only.error": "cannot be changed: the sink relies on it",
    "max.in.flight": _ONE_REQUEST,
    "max.in.flight.requests.per.connection": _ONE_REQUEST,
    "transactional.id": "is not supported: the sink writes without transactions; remove it",
    **{name: f"is the Java producer's: write `producer.{name}`" for name in _JAVAS},
}
"""librdkafka's settings which are not passed through, and what to do instead."""

DEFAULTS: Mapping[str, str] = {
    "partitioner": "murmur2_random",
    "message.timeout.ms": "0",
    "message.max.bytes": "1048576",
    "queue.buffering.max.messages": "100000",
    "queue.buffering.max.kbytes": "65536",
    "linger.ms": "1",
}
"""Where the sink departs from librdkafka's defaults, and an option may depart again.

The partitioner is the Java producer's, records wait without end, a record may be as large as there
(`max.request.size`), and what waits is bounded to 64 MiB.
"""

_ALIASES: Mapping[str, str] = {
    "compression.codec": "compression.type",
    "delivery.timeout.ms": "message.timeout.ms",
    "message.send.max.retries": "retries",
    "queue.buffering.max.ms": "linger.ms",
    "sasl.mechanism": "sasl.mechanisms",
}
_ALL = ("all", "-1")


def producer_settings(config: KafkaSinkConfig, client_id: str) -> dict[str, str]:
    """All settings of the producer; the user's win over the sink's defaults.

    One request at a time is under way to a broker, also where the producer is idempotent. A broker takes any sequence
    number as a producer's first in a partition. So where it refuses the first request, as it has not yet made the
    partition or become its leader, it may take the second; and librdkafka reads that as an acknowledgement of both
    (confluent-kafka-go #921, librdkafka #2501), reports all as delivered, and the first request's records are lost.
    """
    java = config.java_options.settings
    acks = _chosen(config, "acks", java.get("acks"))
    idempotent = _is_idempotent(config)
    return {
        **DEFAULTS,
        "client.id": client_id,
        **_canonical(java),
        **_canonical(config.kafka),
        "bootstrap.servers": config.bootstrap_servers,
        "acks": acks,
        "enable.idempotence": str(idempotent).lower(),
        "max.in.flight.requests.per.connection": "1",
        "allow.auto.create.topics": str(not config.topic_creation_enable).lower(),
    }


def admin_settings(producer: Mapping[str, str]) -> dict[str, str]:
    """The settings for an administrator's client beside that producer: it needs no producer id."""
    return {**producer, "enable.idempotence": "false"}


def check_acks(config: KafkaSinkConfig) -> None:
    """Whether `acks` and `enable.idempotence` fit together.

    Raises:
        ValueError: they do not, or records could be lost.
    """
    acks = _chosen(config, "acks", config.java_options.settings.get("acks"))
    if acks not in (*_ALL, "1"):
        raise ValueError(f"acks={acks} would lose records unnoticed: use acks=all")
    if acks == "1" and _idempotence_wish(config) is True:
        raise ValueError("enable.idempotence needs acks=all: change one of the two")


def _canonical(settings: Mapping[str, str]) -> dict[str, str]:
    return {_ALIASES.get(name, name): value for name, value in settings.items()}


def _chosen(config: KafkaSinkConfig, option: str, java: str | None) -> str:
    """The sink's own option, unless only the Java producer's says something."""
    own = str(getattr(config, option))
    return own if java is None or option in config.model_fields_set else java


def _is_idempotent(config: KafkaSinkConfig) -> bool:
    wish = _idempotence_wish(config)
    acks = _chosen(config, "acks", config.java_options.settings.get("acks"))
    return acks in _ALL if wish is None else wish


def _idempotence_wish(config: KafkaSinkConfig) -> bool | None:
    """What the user asked for, or None."""
    if "enable_idempotence" in config.model_fields_set:
        return config.enable_idempotence
    java = config.java_options.settings.get("enable.idempotence")
    return None if java is None else java.lower() == "true"
