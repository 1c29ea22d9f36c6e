"""The state store `s3` keeps to its contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cdckit.testing import StateStoreSuite
from s3_state.places import make_bucket, options_of
from testkit.servers.object_store import ObjectStore


class TestS3Store(StateStoreSuite):
    type_name = "s3"
    kills = 1

    @pytest.fixture(autouse=True)
    def _bucket(self, object_store: ObjectStore, unique_name: str) -> None:
        self.store, self.bucket = object_store, make_bucket(object_store, unique_name)

    def options(self) -> Mapping[str, Any]:
        return options_of(self.store, self.bucket)
