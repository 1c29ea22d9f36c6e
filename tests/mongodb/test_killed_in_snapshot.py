"""A mongod that is killed while a snapshot reads from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.running import Pipeline, Running, to_file
from testkit.servers.mongodb import MongoReplicaSet

SMALL, LARGE = 2000, 101_000
"""The second is read in the order of `_id`, so that it can go on in its middle."""
MIDDLING = 40_000


@pytest.fixture(scope="module")
def filled() -> Iterator[MongoReplicaSet]:
    """A set of one member with collections `d.a`, `d.b` and `e.a`."""
    with MongoReplicaSet() as replica_set, replica_set.client() as client:
        client.d.a.insert_many({"_id": number} for number in range(SMALL))
        client.d.b.insert_many({"_id": number} for number in range(LARGE))
        client.e.a.insert_many({"_id": number} for number in range(MIDDLING))
        yield replica_set


def _pipeline(replica_set: MongoReplicaSet, folder: Path, database: str, attempts: int) -> Pipeline:
    source = {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": replica_set.uri,
        "mongodb.server.selection.timeout.ms": 500,
        "database.include.list": database,
        "connect.max.attempts": attempts,
        "errors.max.retries": 0,
        "max.batch.size": 500,
    }
    return to_file(folder, source, **{"offset.flush.interval.ms": 50})


def _arrived(process: Running, path: Path, wanted: int) -> None:
    process.wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") > wanted, f"{wanted} documents")


def test_the_snapshot_goes_on_where_it_was(filled: MongoReplicaSet, tmp_path: Path) -> None:
    pipeline = _pipeline(filled, tmp_path, "d", attempts=20)
    with pipeline.running("--once") as process:
        _arrived(process, pipeline.output, SMALL + LARGE // 10)
        filled.nodes[0].kill()
        process.wait_for("trying again in")
        filled.nodes[0].start()
        ended = process.ended()
    assert ended.code == 0, ended.stderr
    found = Counter((event["topic"], event["key"]["id"]) for event in pipeline.events())
    expected = {("p.d.a", str(number)) for number in range(SMALL)} | {("p.d.b", str(number)) for number in range(LARGE)}
    assert found.keys() == expected
    assert set(found.values()) == {1}, "read on, not again"


def test_attempts_come_to_an_end(filled: MongoReplicaSet, tmp_path: Path) -> None:
    pipeline = _pipeline(filled, tmp_path, "e", attempts=1)
    with pipeline.running("--once") as process:
        _arrived(process, pipeline.output, MIDDLING // 10)
        filled.nodes[0].kill()
        ended = process.ended()
    filled.nodes[0].start()
    filled.wait_until_complete()
    assert ended.code == 3
    assert "gave up after 1 attempts (connect.max.attempts, errors.max.retries)" in ended.errors
    assert pipeline.run("--once").code == 0
    assert len({(event["topic"], event["key"]["id"]) for event in pipeline.events()}) == MIDDLING
