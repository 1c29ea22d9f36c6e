"""Options of Kafka's Java producer in librdkafka's words, so that a connector's `producer.override.*` work.

The names are those of Kafka's manual, section "Producer Configs", and of librdkafka's CONFIGURATION.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from cdckit_kafka.java_security import Stores, jaas_settings

_OVERRIDE = "override."

_SAME_NAME = frozenset(
    (
        "acks",
        "batch.size",
        "client.dns.lookup",
        "client.id",
        "compression.type",
        "connections.max.idle.ms",
        "enable.idempotence",
        "enable.metrics.push",
        "linger.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retries",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.service.name",
        "sasl.oauthbearer.token.endpoint.url",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "ssl.key.password",
    )
)
_RENAMED: Mapping[str, tuple[str, ...]] = {
    "delivery.timeout.ms": ("message.timeout.ms",),
    "max.request.size": ("message.max.bytes",),
    "metadata.max.age.ms": ("topic.metadata.refresh.interval.ms",),
    "request.timeout.ms": ("request.timeout.ms", "socket.timeout.ms"),
    "sasl.mechanism": ("sasl.mechanisms",),
    "ssl.keystore.certificate.chain": ("ssl.certificate.pem",),
    "ssl.keystore.key": ("ssl.key.pem",),
    "ssl.truststore.certificates": ("ssl.ca.pem",),
}
_CONVERTED: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "buffer.memory": ("queue.buffering.max.kbytes", lambda size: str(max(1, int(size) // 1024))),
    "compression.gzip.level": ("compression.level", str),
    "compression.lz4.level": ("compression.level", str),
    "compression.zstd.level": ("compression.level", str),
    "receive.buffer.bytes": ("socket.receive.buffer.bytes", lambda size: str(max(0, int(size)))),
    "send.buffer.bytes": ("socket.send.buffer.bytes", lambda size: str(max(0, int(size)))),
    "ssl.endpoint.identification.algorithm": (
        "ssl.endpoint.identification.algorithm",
        lambda name: name.lower() or "none",
    ),
}
_STORES = (
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)
_JAAS = "sasl.jaas.config"
_WITHOUT_EFFECT = ("bootstrap.servers", "key.serializer", "value.serializer")
"""What a connector's producer is given besides, and what this sink settles by itself."""


@dataclass(frozen=True, slots=True)
class JavaProducerOptions:
    """The Java producer's options, translated.

    Attributes:
        settings: librdkafka's settings.
        untranslated: the names of options without a counterpart.
        refused: librdkafka's settings that could not be made, and why; fine where the user gives them directly.
    """

    settings: Mapping[str, str]
    untranslated: tuple[str, ...]
    refused: Mapping[str, str]

    @classmethod
    def translated(cls, producer: Mapping[str, str]) -> Self:
        """The translation of `producer.*`; of two, `producer.override.NAME` wins over `producer.NAME`."""
        options = _merged(producer)
        stores = Stores.read({name: options[name] for name in _STORES if name in options})
        jaas, refused_jaas = jaas_settings(options.get(_JAAS))
        settings = {**dict(_plain(options)), **stores.settings, **jaas}
        if "sasl.oauthbearer.token.endpoint.url" in settings:
            settings["sasl.oauthbearer.method"] = "oidc"
        left = [given for given in producer if not _is_known(given.removeprefix(_OVERRIDE))]
        return cls(settings, tuple(sorted(left)), {**stores.refused, **refused_jaas})

    def problems(self, kafka: Mapping[str, str]) -> list[str]:
        """What cannot be translated and is not given among librdkafka's own options either."""
        return [reason for setting, reason in self.refused.items() if setting not in kafka]


def _merged(producer: Mapping[str, str]) -> dict[str, str]:
    plain = {name: value for name, value in producer.items() if not name.startswith(_OVERRIDE)}
    return plain | {name.removeprefix(_OVERRIDE): v for name, v in producer.items() if name.startswith(_OVERRIDE)}


def _plain(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in options.items():
        if name in _SAME_NAME:
            yield name, value
        for setting in _RENAMED.get(name, ()):
            yield setting, value
        if name in _CONVERTED:
            setting, convert = _CONVERTED[name]
            yield setting, _converted(name, value, convert)


def _converted(name: str, value: str, convert: Callable[[str], str]) -> str:
    try:
        return convert(value)
    except ValueError:
        raise ValueError(f"producer.{name}: should be a number, not '{value}'") from None


def _is_known(name: str) -> bool:
    return (
        name in _SAME_NAME
        or name in _RENAMED
        or name in _CONVERTED
        or name in _STORES
        or name in _WITHOUT_EFFECT
        or name == _JAAS
    )
