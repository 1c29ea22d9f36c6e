"""What the engine itself registers, by the same hooks as any plugin."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.api.hookspecs import Registration, hookimpl


@hookimpl
def cdckit_serializers() -> Sequence[Registration]:
    """The serializers that need no package of their own."""
    return [
        Registration(
            name="cloudevents",
            factory="cdckit.engine.serializers.cloudevents:CloudEventsSerializer",
            config="cdckit.engine.serializers.cloudevents_config:CloudEventsConfig",
            summary="CloudEvents in JSON, with Debezium's attributes; keys and headers as JSON",
            aliases=("io.debezium.converters.CloudEventsConverter",),
        ),
        Registration(
            name="json",
            factory="cdckit.engine.serializers.json:JsonSerializer",
            config="cdckit.engine.serializers.json_config:JsonConfig",
            summary="Kafka Connect's JSON, with or without schemas",
            aliases=("org.apache.kafka.connect.json.JsonConverter",),
        ),
    ]


@hookimpl
def cdckit_state_stores() -> Sequence[Registration]:
    """The state store that needs no package of its own."""
    return [
        Registration(
            name="file",
            factory="cdckit.engine.state.file:FileBackend",
            config="cdckit.engine.state.file_config:FileStateConfig",
            summary="a file of SQLite's on this machine",
        )
    ]
