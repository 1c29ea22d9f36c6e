"""What the tests of metrics use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo.database import Database

from testkit.servers.mongodb import MongoReplicaSet


@pytest.fixture
def own_database(mongo: MongoReplicaSet, unique_name: str) -> Iterator[Database[dict[str, Any]]]:
    """An empty database on `mongo`, dropped after the test."""
    with mongo.client() as client:
        yield client[unique_name]
        client.drop_database(unique_name)
