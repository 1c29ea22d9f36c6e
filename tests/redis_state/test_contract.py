"""The state store `redis` keeps to its contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cdckit.testing import StateStoreSuite
from redis_state.places import options_of
from testkit.servers.redis import RedisServer


class TestRedisStore(StateStoreSuite):
    type_name = "redis"
    kills = 1

    @pytest.fixture(autouse=True)
    def _key(self, redis_server: RedisServer, unique_name: str) -> None:
        self.server, self.key = redis_server, unique_name

    def options(self) -> Mapping[str, Any]:
        return options_of(self.server, self.key)
