"""Snapshots of collections that are read in several batches: mirrors equal them, and a kill repeats one batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from bson import ObjectId, json_util
from pymongo.database import Database
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from spark.dying_sink import DIED, dies_once
from testkit.background import repeated
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

Documents = Database[dict[str, Any]]


@pytest.fixture
def shop(mongo: MongoReplicaSet, unique_name: str) -> Iterator[Documents]:
    """Two collections and an empty one, dropped after the test."""
    with mongo.client() as client:
        shop = client[unique_name]
        shop.a.insert_many({"_id": n, "v": n} for n in range(400))
        shop.b.insert_many({"_id": ObjectId() if n % 2 else f"s{n:03d}", "v": n} for n in range(300))
        shop.create_collection("c")
        yield shop
        client.drop_database(unique_name)


def _pipeline(mongo: MongoReplicaSet, shop: Documents, folder: Path, mode: str) -> Pipeline:
    source = {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": shop.name,
        "snapshot.batch.rows": 150,
    }
    sink = {"type": "spark", "mode": mode, "path": str(folder / "lake")}
    return Pipeline(folder, source, sink, {"offset.flush.interval.ms": 0})


def _run(pipeline: Pipeline) -> None:
    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)


def _rows(session: SparkSession, shop: Documents, folder: Path, name: str) -> list[Any]:
    return session.read.format("delta").load(str(folder / "lake" / f"p.{shop.name}.{name}")).collect()


@pytest.mark.nightly
def test_mirrors_equal_the_collections_whatever_is_written_meanwhile(
    session: SparkSession, mongo: MongoReplicaSet, shop: Documents, tmp_path: Path
) -> None:
    numbers = count(1)

    def write() -> None:
        number = next(numbers)
        shop.a.update_many({"_id": {"$mod": [37, number % 37]}}, {"$set": {"v": -number}})
        shop.a.delete_one({"_id": number})
        shop.a.insert_one({"_id": 1000 + number, "v": 0})
        shop.b.update_one({"v": number * 3}, {"$inc": {"v": 1000}})
        shop.c.insert_one({"_id": number, "v": number})

    pipeline = _pipeline(mongo, shop, tmp_path, "mirror")
    with repeated(write, 0.02):
        _run(pipeline)
    _run(pipeline)
    for name in "abc":
        rows = _rows(session, shop, tmp_path, name)
        held = {row.id: json_util.loads(row.document) for row in rows}
        assert len(held) == len(rows)
        assert sorted(held.values(), key=str) == sorted(shop[name].find(), key=str)


def test_a_batch_that_was_not_finished_is_all_that_is_repeated(
    session: SparkSession, mongo: MongoReplicaSet, shop: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changelog shows each document that was read, and from which batch on a second run went on."""
    pipeline = _pipeline(mongo, shop, tmp_path, "changelog")
    written = dies_once(monkeypatch, 3)
    with pytest.raises(SinkError, match="it died"):
        _run(pipeline)
    place = (pipeline.offset() or {})["cdckit_snapshot"]
    assert place[0] == f"{shop.name}.b", "after three batches of about 150 documents"
    shop.a.update_one({"_id": 7}, {"$set": {"v": -7}})
    shop.b.delete_one({"v": 3})
    _run(pipeline)
    assert written[:5] == [0, 1, 2, DIED, 3]
    rows = _rows(session, shop, tmp_path, "a")
    assert Counter(row["__op"] for row in rows) == {"r": 400, "u": 1}
    assert len({row["__position"] for row in rows}) == 401
    reads = [json_util.loads(row.document)["v"] for row in _rows(session, shop, tmp_path, "b") if row["__op"] == "r"]
    assert sorted({*reads, 3}) == list(range(300))
    assert len(reads) == len(set(reads))
