"""What the engine itself registers, by the same hooks as any plugin."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.hookspecs import Registration, hookimpl


@hookimpl
def cdckit_serializers() -> Sequence[Registration]:
    """The JSON serializer."""
    return [
        Registration(
            name="json",
            factory="cdckit.serializers.json:JsonSerializer",
            config="cdckit.serializers.json_config:JsonConfig",
            summary="Kafka Connect's JSON, with or without schemas",
            aliases=("org.apache.kafka.connect.json.JsonConverter",),
        )
    ]
