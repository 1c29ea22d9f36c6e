"""Writes to Kafka through the sink, for its tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cdckit.api.messages import EncodedHeaders, Messages
from cdckit.api.sink import SinkContext
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.sink import KafkaSink


@dataclass(frozen=True)
class Outgoing:
    """One message to write."""

    topic: str
    key: bytes | None = None
    value: bytes | None = None
    headers: EncodedHeaders = ()
    position: str = ""
    timestamp: int | None = None
    partition: int | None = None


def batch(outgoing: Sequence[Outgoing]) -> Messages:
    """The messages as a sink takes them."""
    return Messages(
        topics=[one.topic for one in outgoing],
        partitions=[one.partition for one in outgoing],
        keys=[one.key for one in outgoing],
        values=[one.value for one in outgoing],
        headers=[one.headers for one in outgoing],
        positions=[one.position for one in outgoing],
        timestamps=[one.timestamp for one in outgoing],
    )


def configured(bootstrap: str, options: dict[str, Any] | None = None) -> KafkaSinkConfig:
    """The sink's config out of options by their names."""
    config, _ = KafkaSinkConfig.load({"bootstrap.servers": bootstrap, **(options or {})}, "sink")
    return config


@contextmanager
def opened(
    bootstrap: str, options: dict[str, Any] | None = None, context: SinkContext | None = None
) -> Iterator[KafkaSink]:
    """An open sink, closed at the end."""
    sink = KafkaSink(configured(bootstrap, options))
    sink.open(context or SinkContext("test", once=True))
    try:
        yield sink
    finally:
        sink.close()


def deliver(bootstrap: str, outgoing: Sequence[Outgoing], options: dict[str, Any] | None = None) -> None:
    """Writes and flushes."""
    with opened(bootstrap, options) as sink:
        sink.write(batch(outgoing))
        sink.flush()
