"""Elections in mid-batch, and writes that are rolled back: a sink holds what a majority has, and all of that."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient, WriteConcern
from pyspark.sql import SparkSession

from cdckit.api.record import Offset
from cdckit.api.source import Split
from crash.targets import FileTarget
from failover.journey import Journey
from mongodb.capture import Capture, shown
from mongodb.unreplicated import ONE, Document, cut_off, insert, replicate, taken_back, wait_for
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet

Plan = Callable[[Any, Offset, Offset], list[Split]]

_SECONDS = 400.0
_MAJORITY = WriteConcern("majority")


@pytest.fixture
def replica_set() -> Iterator[MongoReplicaSet]:
    """Three members, which may be told not to replicate."""
    with MongoReplicaSet(nodes=3, setParameter="enableTestCommands=1") as made:
        yield made


def _planned(source: Any, start: Offset, end: Offset) -> list[Split]:
    return list(source.plan(start, end, 2))


def _bounded(source: Any, start: Offset, end: Offset) -> list[Split]:
    [split] = source.plan(start, None)
    return list(source.bounded(split, end))


@pytest.mark.parametrize("plan", [_planned, pytest.param(_bounded, marks=pytest.mark.nightly)])
def test_the_end_of_a_range_is_rolled_back(replica_set: MongoReplicaSet, unique_name: str, plan: Plan) -> None:
    """It was planned at a primary that died with the newest writes: what a majority has up to there is the range."""
    before, held, lost, after = range(5), range(10, 15), range(20, 25), range(30, 35)
    capture = Capture(replica_set.uri, database_include_list=unique_name)
    with replica_set.client() as client:
        insert(client, unique_name, before, _MAJORITY)
        assert len(capture.once()) == len(before)
        assert capture.offset is not None
        insert(client, unique_name, held, _MAJORITY)
        old = replica_set.primary()
        others = [node for node in replica_set.nodes if node is not old]
        cut_off(old, others)
        insert(client, unique_name, lost, ONE)
        with capture.source() as source:
            end = source.latest_offset(capture.offset)
            assert end != capture.offset
        old.kill()
        replicate(others, "off")
        insert(client, unique_name, after, _MAJORITY)
        with capture.source() as source:
            found: list[int] = []
            at = capture.offset
            for planned in (end, None):
                until = planned or source.latest_offset(at)
                for split in plan(source, at, until):
                    found += [int(shown(one)[1]) for batch in source.read(split) for one in batch.records]
                at = until
        old.start()
        wait_for(lambda: bool(taken_back(old)), "what the old primary has taken back", _SECONDS)
    assert found == [*held, *after]


class _Work:
    """Random changes of one collection, which a majority has."""

    def __init__(self, client: MongoClient[Document], database: str, chance: random.Random) -> None:
        self._collection = client[database].get_collection("a", write_concern=_MAJORITY)
        self._chance = chance
        self._made = 0

    def write(self, operations: int) -> None:
        """Does so many."""
        for _ in range(operations):
            self._made += 1
            key = self._chance.randrange(60)
            if self._chance.random() < 0.2:
                self._collection.delete_one({"_id": key})
            else:
                self._collection.replace_one({"_id": key}, {"token": self._made, "fill": "x" * 2000}, upsert=True)

    def documents(self) -> dict[int, int]:
        """What is there."""
        return {one["_id"]: one["token"] for one in self._collection.find({}, {"token": 1})}


@pytest.mark.spark
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "kind", ["direct-file", *(pytest.param(kind, marks=pytest.mark.nightly) for kind in ("spark-file", "spark-mirror"))]
)
def test_the_sink_equals_the_collection_after_elections(
    replica_set: MongoReplicaSet,
    kind: str,
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    request: pytest.FixtureRequest,
) -> None:
    session: SparkSession | None = request.getfixturevalue("session") if kind.startswith("spark") else None
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    chance = random.Random(seed)
    target = FileTarget(tmp_path)
    lake = {"type": "spark", "mode": "mirror", "path": str(tmp_path / "lake")}
    pipeline = Pipeline(
        tmp_path,
        {
            "type": "mongodb",
            "topic.prefix": "p",
            "mongodb.connection.string": replica_set.uri,
            "database.include.list": unique_name,
        },
        lake if kind == "spark-mirror" else target.sink,
        {"serializer": {"schemas.enable": False}, "runner": kind.partition("-")[0]},
    )

    def shown_there() -> dict[int, int]:
        if kind == "spark-mirror":
            assert session is not None
            table = session.read.format("delta").load(str(tmp_path / "lake" / f"p.{unique_name}.a"))
            return {int(row.id): json.loads(row.document)["token"] for row in table.collect()}
        found: dict[int, int] = {}
        for record in target.arrived():
            key = int(record.key["id"])
            found.pop(key, None)
            if record.value and record.value["after"]:
                found[key] = json.loads(record.value["after"])["token"]
        return found

    with replica_set.client() as client:
        work = _Work(client, unique_name, chance)
        work.write(100)
        journey = Journey(pipeline, kind.partition("-")[0])
        journey.to_the_end()
        for _ in range(10 if nightly else 1):
            work.write(400)
            with journey.running():
                time.sleep(chance.uniform(0, 2.5))
                old = replica_set.primary()
                old.kill()
                work.write(100)
                wait_for(
                    lambda: journey.failure is not None or shown_there() == work.documents(), "the collection", _SECONDS
                )
                journey.check()
            old.start()
            replica_set.wait_until_complete()
