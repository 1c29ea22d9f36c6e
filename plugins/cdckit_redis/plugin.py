"""Registers the state store `redis`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl


@hookimpl
def cdckit_state_stores() -> Sequence[Registration]:
    """The store that keeps states in a Redis server."""
    return [
        Registration(
            name="redis",
            factory="cdckit_redis.store:RedisBackend",
            config="cdckit_redis.config:RedisStateConfig",
            summary="hashes of a Redis or Valkey server",
            extra="redis",
            requires=("cryptography", "redis"),
            aliases=(
                "io.debezium.storage.redis.offset.RedisOffsetBackingStore",
                "io.debezium.storage.redis.history.RedisSchemaHistory",
                "io.debezium.server.redis.RedisOffsetBackingStore",
                "io.debezium.server.redis.RedisSchemaHistory",
            ),
        )
    ]
