"""MongoDB's change stream on Spark: groups of collections, runners that take turns, snapshots in ranges of `_id`."""

from __future__ import annotations

import datetime
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bson import Binary, Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Timestamp
from pymongo.database import Database
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from cdckit_mongodb.extended_json import IDENTIFIER
from cdckit_mongodb.server.connection import CODEC
from testkit.running import Pipeline, to_file
from testkit.servers.mongodb import MongoReplicaSet

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session"), pytest.mark.timeout(600)]

Documents = Database[dict[str, Any]]
COLLECTIONS = ("a", "b", "c", "d")
EACH_TYPE: list[Any] = [
    MinKey(), None, 1.5, Int64(2**60), Decimal128("7.25"), "", {"x": 1, "y": [2]}, Binary(b"\x00\x01", 5),
    Binary(bytes(16), 4), ObjectId(), True, False,
    datetime.datetime(2024, 2, 29), Timestamp(7, 7), Code("f()"), MaxKey(),
]  # fmt: skip


@pytest.fixture
def shop(mongo: MongoReplicaSet, unique_name: str) -> Iterator[Documents]:
    """An empty database, dropped after the test."""
    with mongo.client() as client:
        yield client[unique_name]
        client.drop_database(unique_name)


class Versions:
    """Documents whose changes are counted in themselves: what arrives of one must count 0, 1, 2 …"""

    def __init__(self, shop: Documents) -> None:
        self._shop = shop
        self._random = random.Random(7)
        self.newest: dict[tuple[str, int], int] = {}

    def change(self, transactions: int) -> None:
        """Transactions over several collections, each of which may change one document more than once."""
        with self._shop.client.start_session() as session:
            for _ in range(transactions):
                with session.start_transaction():
                    for _ in range(self._random.randint(1, 6)):
                        self._change(session)

    def _change(self, session: Any) -> None:
        name, number = self._random.choice(COLLECTIONS), self._random.randrange(8)
        version = self.newest[name, number] = self.newest.get((name, number), -1) + 1
        update = {"$set": {"version": version}}
        self._shop[name].update_one({"_id": number}, update, upsert=True, session=session)


def _arrived(pipeline: Pipeline) -> dict[tuple[str, int], list[int]]:
    """The versions of each document in the order in which they have arrived."""
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for event in pipeline.events():
        value = event["value"]
        shown = value["updateDescription"]["updatedFields"] if value["op"] == "u" else value["after"]
        found[value["source"]["collection"], int(event["key"]["id"])].append(json.loads(shown)["version"])
    return found


def _source(mongo: MongoReplicaSet, shop: Documents, **options: Any) -> dict[str, Any]:
    """Options of a source; underscores stand for dots."""
    given = {name.replace("_", "."): value for name, value in options.items()}
    return {
        "type": "mongodb",
        "topic.prefix": "t",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": shop.name,
        **given,
    }


def test_runners_take_turns_while_groups_change(mongo: MongoReplicaSet, shop: Documents, tmp_path: Path) -> None:
    for name in COLLECTIONS:
        shop.create_collection(name)
    versions = Versions(shop)
    turns: list[tuple[type[DirectRunner | SparkRunner], Sequence[str]]] = [
        (DirectRunner, []),
        (SparkRunner, [r".*\.a", r".*\.b"]),
        (SparkRunner, [r".*\.[bc],.*\.a"]),
        (DirectRunner, [r".*\.d"]),
    ]
    for runner, groups in turns:
        options = {"snapshot_mode": "no_data", "capture_mode": "change_streams", "capture_collection_groups": groups}
        pipeline = to_file(tmp_path, _source(mongo, shop, **options), spark={"spark.master": "local[2]"})
        runner(load_pipeline(pipeline.written(), runner=runner.name)).run(once=True)
        assert _arrived(pipeline) == {key: list(range(newest + 1)) for key, newest in versions.newest.items()}
        versions.change(60)
    assert len(versions.newest) == 8 * len(COLLECTIONS)


def test_ranges_of_a_snapshot_are_read_together_and_again_after_a_failure(
    session: SparkSession, mongo: MongoReplicaSet, shop: Documents, tmp_path: Path
) -> None:
    """What stops the first run, a value that is no number, does so while the ranges are read."""
    for first in range(0, 45_000, 5_000):
        shop.a.insert_many({"_id": _identifier(number), "v": 0} for number in range(first, first + 5_000))
    shop.a.insert_many({"_id": one, "v": 0} for one in EACH_TYPE)
    shop.a.update_one({"_id": _identifier(30_001)}, {"$set": {"v": "none"}})
    source = _source(mongo, shop, collection_include_list=rf"{shop.name}\.a")
    sink = {"type": "spark", "path": str(tmp_path / "lake"), "mode": "mirror", "document.columns": "v int"}
    runner = SparkRunner(load_pipeline(Pipeline(tmp_path, source, sink).written(), runner="spark"))
    with pytest.raises(SinkError, match='field v is no int: "none"'):
        runner.run(once=True)
    shop.a.delete_many({"_id": {"$type": "int", "$lt": 100}})
    shop.a.update_many({"_id": {"$type": "string", "$lt": "s40000"}}, {"$set": {"v": 1}})
    with _queries(shop) as found:
        runner.run(once=True)
        assert found() == 4
    held = session.read.format("delta").load(str(tmp_path / "lake" / f"t.{shop.name}.a"))
    assert {row.id: row.v for row in held.select("id", "v").collect()} == {
        IDENTIFIER.value(document["_id"]): document["v"]
        for document in shop.get_collection("a", codec_options=CODEC).find()
    }


def _identifier(number: int) -> Any:
    """Of different types, whose documents lie between each other's on disk but not in the order of `_id`."""
    return (number, f"s{number:05d}", {"n": number}, datetime.datetime.fromtimestamp(number, datetime.UTC))[number % 4]


@contextmanager
def _queries(shop: Documents) -> Iterator[Callable[[], int]]:
    """Counts the queries of collection `a`: one for each range that is read."""
    shop.drop_collection("system.profile")
    shop.command("profile", 2)
    try:
        yield lambda: shop["system.profile"].count_documents({"op": "query", "ns": f"{shop.name}.a"})
    finally:
        shop.command("profile", 0)
