"""Places for the store `kafka`: topics of a test's own, their options, and pipelines that use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cdckit_kafka.state.config import KafkaStateConfig
from cdckit_kafka.state.store import KafkaBackend
from testkit.forgetful import Forgetful
from testkit.servers.kafka import KafkaBroker


def options_of(broker: KafkaBroker, topic: str, **others: Any) -> dict[str, Any]:
    """The store's options; underscores stand for dots."""
    return {
        "bootstrap.servers": broker.bootstrap,
        "topic": topic,
        "hold.timeout.ms": 6000,
        **{name.replace("_", "."): value for name, value in others.items()},
    }


def backend_of(broker: KafkaBroker, topic: str, **others: Any) -> KafkaBackend:
    """A store there."""
    return KafkaBackend(KafkaStateConfig.load(options_of(broker, topic, **others), "state")[0])


def forgetful(folder: Path, source: dict[str, Any], sink: dict[str, Any], broker: KafkaBroker, topic: str) -> Forgetful:
    """A pipeline that has its state there."""
    state = {"type": "kafka", **options_of(broker, topic)}
    return Forgetful.of(folder, source, sink, state, backend_of(broker, topic))
