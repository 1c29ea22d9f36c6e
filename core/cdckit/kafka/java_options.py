"""Options of Kafka's Java clients in librdkafka's words, so that a connector's configuration works as it is.

The names are those of Kafka's manual, sections "Producer Configs" and "Consumer Configs", and of librdkafka's
CONFIGURATION.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from cdckit.kafka.java_security import JAAS, STORES, Named, Stores, jaas_settings

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
        "transaction.timeout.ms",
    )
)
"""What the Java producer and librdkafka's call alike and mean alike."""
_WITHOUT_EFFECT = ("bootstrap.servers", "key.serializer", "value.serializer")
"""What a connector's producer is given besides, and what who makes the client settles by itself."""
_IN_JAVA_ALONE = re.compile(
    r"(key|value)\.(de)?serializer|interceptor\.classes|metrics?\..+|auto\.include\.jmx\.reporter|max\.poll\.records"
    r"|default\.api\.timeout\.ms|exclude\.internal\.topics|partition\.assignment\.strategy|throw\.on\..+"
    r"|max\.block\.ms|partitioner\.(class|ignore\.keys|adaptive\..+|availability\..+)|config\.providers.*"
    r"|security\.providers|sasl\.(client|login)\..+|sasl\.kerberos\.ticket\..+"
    r"|ssl\.(protocol|provider|enabled\.protocols|engine\.factory\.class|secure\.random\.implementation)"
    r"|ssl\.(key|trust)manager\.algorithm|socket\.connection\.setup\.timeout\.max\.ms"
)
"""Options of Java's clients that librdkafka would refuse as unknown."""
_SERIALIZERS = re.compile(r"(key|value)\.(de)?serializer")

Conversion = tuple[str, Callable[[str], str]]


def _buffer_size(size: str) -> str:
    return str(max(0, int(size)))


_RENAMED: Mapping[str, tuple[str, ...]] = {
    "metadata.max.age.ms": ("topic.metadata.refresh.interval.ms",),
    "sasl.mechanism": ("sasl.mechanisms",),
    "ssl.keystore.certificate.chain": ("ssl.certificate.pem",),
    "ssl.keystore.key": ("ssl.key.pem",),
    "ssl.truststore.certificates": ("ssl.ca.pem",),
}
_CONVERTED: Mapping[str, Conversion] = {
    "receive.buffer.bytes": ("socket.receive.buffer.bytes", _buffer_size),
    "send.buffer.bytes": ("socket.send.buffer.bytes", _buffer_size),
    "ssl.endpoint.identification.algorithm": (
        "ssl.endpoint.identification.algorithm",
        lambda name: name.lower() or "none",
    ),
}


@dataclass(frozen=True, slots=True)
class JavaClient:
    """What the options of one kind of Java's clients are called by librdkafka.

    Attributes:
        renamed: options that have other names there; one of them may be two.
        converted: options that have other names and values there.
    """

    renamed: Mapping[str, tuple[str, ...]]
    converted: Mapping[str, Conversion]


PRODUCER = JavaClient(
    {
        **_RENAMED,
        "delivery.timeout.ms": ("message.timeout.ms",),
        "max.request.size": ("message.max.bytes",),
        "request.timeout.ms": ("request.timeout.ms", "socket.timeout.ms"),
    },
    {
        **_CONVERTED,
        "buffer.memory": ("queue.buffering.max.kbytes", lambda size: str(max(1, int(size) // 1024))),
        "compression.gzip.level": ("compression.level", str),
        "compression.lz4.level": ("compression.level", str),
        "compression.zstd.level": ("compression.level", str),
    },
)
CONSUMER = JavaClient(
    {**_RENAMED, "fetch.max.wait.ms": ("fetch.wait.max.ms",), "request.timeout.ms": ("socket.timeout.ms",)},
    {
        **_CONVERTED,
        "auto.offset.reset": ("auto.offset.reset", lambda where: {"none": "error"}.get(where.lower(), where)),
    },
)


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """A client's properties, translated.

    Attributes:
        settings: librdkafka's settings.
        untranslated: the names of options without a counterpart.
        refused: librdkafka's settings that could not be made, and why; fine where the user gives them directly.
    """

    settings: Mapping[str, str] = field(repr=False)
    untranslated: tuple[str, ...]
    refused: Mapping[str, str]

    def problems(self, direct: Mapping[str, str]) -> list[str]:
        """What cannot be translated and is not given in librdkafka's own words either."""
        return [reason for setting, reason in self.refused.items() if setting not in direct]

    def remarks(self, properties: str) -> list[str]:
        """What a user should be told of properties that are left out; `properties` begins their names."""
        names = ", ".join(f"{properties}.{name}" for name in self.untranslated)
        return [f"options of Java's Kafka clients without a counterpart here, left out: {names}"] if names else []


def from_java(options: Mapping[str, str], client: JavaClient, named: Named) -> ClientSettings:
    """The settings that a Java producer's properties stand for.

    Raises:
        ValueError: a value cannot be; the message names the option.
    """
    known = _SAME_NAME.union(_WITHOUT_EFFECT, STORES, (JAAS,), client.renamed, client.converted)
    same = {name: value for name, value in options.items() if name in _SAME_NAME}
    settings, refused = _translated(options, client, named)
    left = tuple(sorted(name for name in options if name not in known))
    return ClientSettings({**same, **settings, **_oidc(same)}, left, refused)


def from_java_or_librdkafka(options: Mapping[str, str], client: JavaClient, properties: str) -> ClientSettings:
    """The settings that properties stand for which may be in Java's words, in librdkafka's, or in both.

    Args:
        options: the properties; of two that mean the same, librdkafka's counts.
        client: which client they are for.
        properties: what begins their names: `signal.consumer`.

    Raises:
        ValueError: a value cannot be, or a key store, a login or another property cannot be had here; the message
            names the option and what to do.
    """
    javas = {*STORES, JAAS, *client.renamed, *client.converted}
    direct = {
        name: value for name, value in options.items() if name not in javas and not _IN_JAVA_ALONE.fullmatch(name)
    }
    settings, refused = _translated(options, client, Named(properties, properties))
    found = ClientSettings({**_oidc(direct), **settings, **direct}, _left_out(options), refused)
    if problems := found.problems(direct):
        raise ValueError("; ".join(problems))
    return found


def _left_out(options: Mapping[str, str]) -> tuple[str, ...]:
    """What librdkafka has no counterpart of; nobody misses (de)serializers."""
    return tuple(
        sorted(name for name in options if _IN_JAVA_ALONE.fullmatch(name) and not _SERIALIZERS.fullmatch(name))
    )


def _translated(options: Mapping[str, str], client: JavaClient, named: Named) -> tuple[dict[str, str], dict[str, str]]:
    """What has other names or forms in librdkafka: its settings, and what is refused."""
    stores = Stores.read({name: options[name] for name in STORES if name in options}, named)
    jaas, refused_jaas = jaas_settings(options.get(JAAS), named)
    return {**dict(_renamed(options, client, named)), **stores.settings, **jaas}, {**stores.refused, **refused_jaas}


def _renamed(options: Mapping[str, str], client: JavaClient, named: Named) -> Iterator[tuple[str, str]]:
    for name, value in options.items():
        for setting in client.renamed.get(name, ()):
            yield setting, value
        if name in client.converted:
            setting, convert = client.converted[name]
            yield setting, _converted(f"{named.properties}.{name}", value, convert)


def _converted(name: str, value: str, convert: Callable[[str], str]) -> str:
    try:
        return convert(value)
    except ValueError:
        raise ValueError(f"{name}: should be a number, not '{value}'") from None


def _oidc(settings: Mapping[str, str]) -> dict[str, str]:
    """Java asks an endpoint for a token where it is given one; librdkafka where it is told to."""
    return {"sasl.oauthbearer.method": "oidc"} if "sasl.oauthbearer.token.endpoint.url" in settings else {}
