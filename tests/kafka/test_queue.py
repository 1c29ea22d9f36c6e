"""How full the producer's buffer is, as metrics ask for it."""

from __future__ import annotations

from cdckit.api.messages import Messages
from cdckit.api.sink import QueueFill, SinkContext
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.sink import KafkaSink
from testkit.servers.kafka import KafkaBroker


def test_the_buffer_is_empty_after_a_flush_and_gone_after_the_end(kafka_broker: KafkaBroker, unique_name: str) -> None:
    given = {"bootstrap.servers": kafka_broker.bootstrap, "kafka.linger.ms": "5000"}
    sink = KafkaSink(KafkaSinkConfig.load(given, "sink")[0])
    assert sink.queue_fill() is None
    sink.open(SinkContext("queue"))
    try:
        sink.write(_messages(unique_name, 10))
        assert sink.queue_fill() == QueueFill(10, 50_000, 65536 * 1024)
        sink.flush()
        assert sink.queue_fill() == QueueFill(0, 50_000, 65536 * 1024)
    finally:
        sink.close()
    assert sink.queue_fill() is None


def _messages(topic: str, number: int) -> Messages:
    each = range(number)
    return Messages(
        [topic for _ in each],
        [None for _ in each],
        [b"k" for _ in each],
        [b"v" for _ in each],
        [() for _ in each],
        ["" for _ in each],
        [1 for _ in each],
    )
