"""Places for the store `redis`: keys of a test's own, their options, and pipelines that use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cdckit_redis.config import RedisStateConfig
from cdckit_redis.store import RedisBackend
from testkit.forgetful import Forgetful
from testkit.servers.redis import RedisServer


def options_of(server: RedisServer, key: str, **others: Any) -> dict[str, Any]:
    """The store's options; underscores stand for dots."""
    return {
        "redis.address": server.address,
        "redis.key": key,
        "hold.timeout.ms": 2000,
        **{name.replace("_", "."): value for name, value in others.items()},
    }


def backend_of(server: RedisServer, key: str, **others: Any) -> RedisBackend:
    """A store there."""
    return RedisBackend(RedisStateConfig.load(options_of(server, key, **others), "state")[0])


def forgetful(folder: Path, source: dict[str, Any], sink: dict[str, Any], server: RedisServer, key: str) -> Forgetful:
    """A pipeline that has its state there."""
    state = {"type": "redis", **options_of(server, key)}
    return Forgetful.of(folder, source, sink, state, backend_of(server, key))
