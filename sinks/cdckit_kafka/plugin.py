"""Registers the sink and the state store `kafka`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl


@hookimpl
def cdckit_sinks() -> Sequence[Registration]:
    """The sink that writes records to Kafka's topics."""
    return [
        Registration(
            name="kafka",
            factory="cdckit_kafka.sink:KafkaSink",
            config="cdckit_kafka.config:KafkaSinkConfig",
            summary="writes each record to its Kafka topic, idempotently, acknowledged by all in-sync replicas",
            extra="kafka",
            requires=("confluent_kafka",),
        )
    ]


@hookimpl
def cdckit_state_stores() -> Sequence[Registration]:
    """The store that keeps states in topics."""
    return [
        Registration(
            name="kafka",
            factory="cdckit_kafka.state.store:KafkaBackend",
            config="cdckit_kafka.state.config:KafkaStateConfig",
            summary="topics of Kafka",
            extra="kafka",
            requires=("confluent_kafka",),
            aliases=(
                "org.apache.kafka.connect.storage.KafkaOffsetBackingStore",
                "io.debezium.storage.kafka.history.KafkaSchemaHistory",
            ),
        )
    ]
