"""Registers the sources `ticdc` and `debezium`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl


@hookimpl
def cdckit_sources() -> Sequence[Registration]:
    """The sources that read change events which others wrote."""
    return [
        Registration(
            name="ticdc",
            factory="cdckit_ticdc.source:TicdcSource",
            config="cdckit_ticdc.config:TicdcConfig",
            summary="row changes that TiCDC puts on Kafka, in any of its protocols",
            extra="ticdc",
            requires=("confluent_kafka", "fastavro"),
        ),
        Registration(
            name="debezium",
            factory="cdckit_ticdc.debezium_source:DebeziumSource",
            config="cdckit_ticdc.config:DebeziumConfig",
            summary="change events that Debezium, or whoever writes its format, puts on Kafka",
            extra="ticdc",
            requires=("confluent_kafka", "fastavro"),
        ),
    ]
