"""Collections are read again while others write to them, and pipelines are killed (SIGKILL)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pymongo.collection import Collection

from testkit.background import repeated
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet

DOCUMENTS = 2000
Found = Collection[dict[str, Any]]


def _change(collection: Found, seed: int) -> Callable[[], None]:
    """Gives what inserts, updates or deletes a document at random; each token is written once."""
    chance, tokens = random.Random(seed), count(DOCUMENTS)

    def change() -> None:
        token = next(tokens)
        key = chance.randrange(DOCUMENTS + 200)
        if chance.random() < 0.1:
            collection.delete_one({"_id": key})
        else:
            collection.update_one({"_id": key}, {"$set": {"token": token}}, upsert=True)

    return change


@pytest.mark.timeout(300)
@pytest.mark.parametrize("strategy", ["insert_insert", pytest.param("insert_delete", marks=pytest.mark.nightly)])
def test_the_newest_state_wins(
    mongo: MongoReplicaSet, strategy: str, unique_name: str, tmp_path: Path, nightly: bool, afterwards: ExitStack
) -> None:
    afterwards.callback(mongo.drop_database, unique_name)
    with mongo.client() as client:
        database = client[unique_name]
        database.a.insert_many({"_id": number, "token": number} for number in range(DOCUMENTS))
        database.create_collection("signals")
        source = {
            "type": "mongodb",
            "topic.prefix": "p",
            "mongodb.connection.string": mongo.uri,
            "collection.include.list": rf"{unique_name}\.a",
            "snapshot.mode": "no_data",
            "signal.data.collection": f"{unique_name}.signals",
            "incremental.snapshot.chunk.size": 50,
            "incremental.snapshot.watermarking.strategy": strategy,
        }
        sink = {"type": "file", "path": str(tmp_path / "out.jsonl")}
        options = {"serializer": {"schemas.enable": False}, "offset.flush.interval.ms": 50}
        pipeline = Pipeline(tmp_path, source, sink, options)
        assert pipeline.run("--once").code == 0
        database.signals.insert_one({"type": "execute-snapshot", "data": {"data-collections": [rf"{unique_name}\.a"]}})
        with repeated(_change(database.a, random.SystemRandom().getrandbits(32)), 0.002):
            for kills in range(1, 13):
                _killed(pipeline, 200)
                if not nightly and kills > 1 and "cdckit_incremental" in (pipeline.offset() or {}):
                    break  # in the middle
        ended = pipeline.run("--once")
        assert ended.code == 0, ended.stderr
        expected = {document["_id"]: document["token"] for document in database.a.find()}
        assert _newest(pipeline.output) == expected


def _killed(pipeline: Pipeline, lines: int) -> None:
    """A run that is killed when so many lines more are there."""
    before = _lines(pipeline.output)
    with pipeline.running() as process:
        process.wait_until(lambda: _lines(pipeline.output) - before >= lines)
        process.kill()


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _newest(path: Path) -> dict[int, int]:
    """The token of each document by the record with the greatest position; deleted ones are left out."""
    newest: dict[int, tuple[str, int | None]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        [position] = [header["value"] for header in record["headers"] if header["key"] == "__cdckit.position"]
        key, value = int(record["key"]["id"]), record["value"]
        after = None if value is None or value["after"] is None else json.loads(value["after"])["token"]
        newest[key] = max(newest.get(key, ("", None)), (position, after), key=lambda pair: pair[0])
    return {key: token for key, (_, token) in newest.items() if token is not None}
