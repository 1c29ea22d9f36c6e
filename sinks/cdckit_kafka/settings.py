"""What librdkafka is told: its settings out of the sink's options.

Names and meanings are those of librdkafka's CONFIGURATION.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdckit.kafka import ClientOptions, of_every_client
from cdckit_kafka.config import KafkaSinkConfig

CLIENT_OPTIONS = ClientOptions("sink.kafka", "sink.bootstrap.servers", "sink.timeout")

DEFAULTS: Mapping[str, str] = {
    "partitioner": "murmur2_random",
    "message.timeout.ms": "0",
    "message.max.bytes": "1048576",
    "queue.buffering.max.messages": "50000",
    "queue.buffering.max.kbytes": "65536",
    "linger.ms": "1",
}
"""Where the sink departs from librdkafka's defaults, and an option may depart again.

The partitioner is the Java producer's, records wait without end, a record may be as large as there
(`max.request.size`). What waits is bounded to 64 MiB and to a number of records that keeps librdkafka's own 0.5 KiB a
record, which it does not count, below 25 MiB more.
"""

_ALIASES: Mapping[str, str] = {
    "compression.codec": "compression.type",
    "delivery.timeout.ms": "message.timeout.ms",
    "message.send.max.retries": "retries",
    "queue.buffering.max.ms": "linger.ms",
    "sasl.mechanism": "sasl.mechanisms",
}


_FOR_TRANSACTIONS = ("transactional.id", "transaction.timeout.ms", "message.timeout.ms")


def producer_settings(config: KafkaSinkConfig, pipeline: str) -> dict[str, str]:
    """All settings of the producer; the user's win over the sink's defaults.

    One request at a time is under way to a broker, also where the producer is idempotent. A broker takes any sequence
    number as a producer's first in a partition. So where it refuses the first request, as it has not yet made the
    partition or become its leader, it may take the second; and librdkafka reads that as an acknowledgement of both
    (confluent-kafka-go #921, librdkafka #2501), reports all as delivered, and the first request's records are lost.
    """
    chosen = {**_canonical(config.java_options.settings), **_canonical(config.kafka)}
    return {
        **DEFAULTS,
        "client.id": f"cdckit-{pipeline}",
        **chosen,
        **(_transaction_settings(config, pipeline, chosen) if config.exactly_once else {}),
        "bootstrap.servers": config.bootstrap_servers,
        "acks": config.chosen_acks,
        "enable.idempotence": str(config.idempotent).lower(),
        "max.in.flight.requests.per.connection": "1",
        "allow.auto.create.topics": str(not config.topic_creation_enable).lower(),
    }


def _transaction_settings(config: KafkaSinkConfig, pipeline: str, chosen: Mapping[str, str]) -> dict[str, str]:
    """Those of a producer of transactions; a record waits for no longer than its transaction may last."""
    timeout = str(config.transaction_timeout_ms)
    waits = chosen.get("message.timeout.ms", "0")
    return {
        "transactional.id": config.transactional_id or f"cdckit-{pipeline}",
        "transaction.timeout.ms": timeout,
        "message.timeout.ms": timeout if waits == "0" else waits,
    }


def consumer_settings(producer: Mapping[str, str], *, committed: bool = True) -> dict[str, str]:
    """The settings for a reader of what that producer has committed, or of all that it has written."""
    return {
        **of_every_client(producer),
        "group.id": producer["client.id"],
        "enable.auto.commit": "false",
        "enable.partition.eof": "true",
        "isolation.level": "read_committed" if committed else "read_uncommitted",
        "fetch.wait.max.ms": "50",
        "allow.auto.create.topics": "false",
    }


def admin_settings(producer: Mapping[str, str]) -> dict[str, str]:
    """The settings for an administrator's client beside that producer: it needs no producer id."""
    kept = {name: value for name, value in producer.items() if name not in _FOR_TRANSACTIONS}
    return {**kept, "enable.idempotence": "false"}


def _canonical(settings: Mapping[str, str]) -> dict[str, str]:
    return {_ALIASES.get(name, name): value for name, value in settings.items()}
