"""What every test of the MongoDB source uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo.database import Database

from mongodb.secured import SecuredNode, secured_set
from testkit.servers.mongodb import MongoReplicaSet


@pytest.fixture
def own_database(mongo: MongoReplicaSet, unique_name: str) -> Iterator[Database[dict[str, Any]]]:
    """An empty database on `mongo`, dropped after the test."""
    with mongo.client() as client:
        yield client[unique_name]
        client.drop_database(unique_name)


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    """A set of one member with users `deployment`, `database` and `collection`, all with the password `secret`."""
    with secured_set(tmp_path_factory.mktemp("secured")) as node:
        yield node
