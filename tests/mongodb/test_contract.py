"""The contract of a source, held to by the MongoDB source on a real replica set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
import pytest

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.testing import SourceSuite
from testkit.servers.mongodb import MongoReplicaSet


class TestMongoDbSource(SourceSuite):
    type_name = "mongodb"

    @pytest.fixture(autouse=True)
    def _own_database(self, mongo: MongoReplicaSet, unique_name: str) -> Iterator[None]:
        self.server = mongo
        self.database = unique_name
        with mongo.client() as self.client:
            self.client[unique_name].create_collection("t")
            yield
            self.client.drop_database(unique_name)

    def options(self) -> Mapping[str, Any]:
        return {
            "topic.prefix": "suite",
            "mongodb.connection.string": self.server.uri,
            "database.include.list": self.database,
        }

    def change(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self.client[self.database].t.insert_one({"_id": token, "note": "x"})

    def token(self, record: Record) -> int | None:
        if record.topic != f"suite.{self.database}.t" or not isinstance(record.value, Struct):
            return None
        token: int = orjson.loads(record.value["after"])["_id"]
        return token
