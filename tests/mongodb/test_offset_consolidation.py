"""`cdc offsets import --from-debezium` with offsets of every version of Debezium's connector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.cli.main import call
from cdckit_mongodb.tokens import token_of
from mongodb.capture import Capture, shown
from mongodb.router import Router
from testkit.running import PASSWORD, Pipeline, to_file
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]
Dump = dict[str | None, dict[str, Any]]
"""Offsets by what their partitions say of the replica set."""

TRUE = {"internal.mongodb.allow.offset.invalidation": "true"}


@pytest.fixture(scope="module")
def cluster(mongo: MongoReplicaSet) -> Iterator[Router]:
    """A cluster that has the shards `one` and `two`; a replica set `rs0` serves for both."""
    with Router(mongo.primary().port) as router, mongo.client() as client:
        shards = [{"_id": f"shard-{name}", "host": f"{name}/127.0.0.1:27017"} for name in ("one", "two")]
        client.config.shards.insert_many(shards)
        yield router
        client.config.shards.drop()


def _pipeline(folder: Path, uri: str, **options: str) -> Pipeline:
    source = {"type": "mongodb", "topic.prefix": "g", "mongodb.connection.string": uri, **options}
    return to_file(folder, source)


def _imported(pipeline: Pipeline, dump: Dump) -> int:
    """The exit code."""
    file = pipeline.folder / "dump.jsonl"
    partitions = ({"server_id": "g"} if name is None else {"rs": name, "server_id": "g"} for name in dump)
    lines = zip(partitions, dump.values(), strict=True)
    file.write_text("\n".join(f"{json.dumps(['c', partition])}\t{json.dumps(offset)}" for partition, offset in lines))
    return call(["offsets", "import", str(pipeline.written()), "--from-debezium", str(file)])


def _at(second: int, **members: Any) -> dict[str, Any]:
    return {"sec": second, "ord": 7, "transaction_id": None, **members}


@pytest.mark.parametrize(
    "dump",
    [
        {None: _at(20)},
        {None: _at(20), "one": _at(10), "rs0": _at(10)},
        {"cluster": _at(20), "one": _at(10)},
        {None: _at(20), "cluster": _at(10), "two": _at(5, initsync=True)},
    ],
)
def test_offsets_of_the_whole_are_used_as_they_are(tmp_path: Path, dump: Dump) -> None:
    """Those of 2.6 and newer, or of 2.2 to 2.5 through routers; the servers need not be asked."""
    pipeline = _pipeline(tmp_path, "mongodb://127.0.0.1:1")
    assert _imported(pipeline, dump) == 0
    assert pipeline.offset() == {"sec": 20, "ord": 7}


def test_the_offset_of_a_replica_set_is_used_as_it_is(mongo: MongoReplicaSet, tmp_path: Path) -> None:
    pipeline = _pipeline(tmp_path, mongo.uri)
    assert _imported(pipeline, {"rs0": _at(20), "rs1": _at(10)}) == 0
    assert pipeline.offset() == {"sec": 20, "ord": 7}


def test_the_offset_of_another_replica_set_is_refused(
    mongo: MongoReplicaSet, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = _pipeline(tmp_path, mongo.uri)
    assert _imported(pipeline, {"rs1": _at(20)}) == 7
    assert "are of the replica set rs1, the servers are of rs0" in _said(caplog, capsys)
    assert pipeline.offset() is None


def test_a_cluster_goes_on_from_the_shard_that_is_furthest_behind(cluster: Router, tmp_path: Path) -> None:
    """By the time, since a shard's token is not the cluster's; a shard that is gone does not count."""
    pipeline = _pipeline(tmp_path, cluster.uri)
    assert _imported(pipeline, {"two": _at(20), "one": _at(15, resume_token="8261"), "gone": _at(3)}) == 0
    assert pipeline.offset() == {"sec": 15, "ord": 7}


@pytest.mark.parametrize(("allowed", "code"), [({}, 7), (TRUE, 0)])
def test_a_shard_without_an_offset(
    cluster: Router,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    allowed: dict[str, str],
    code: int,
) -> None:
    pipeline = _pipeline(tmp_path, cluster.uri, **allowed)
    assert _imported(pipeline, {"two": _at(20)}) == code
    assert pipeline.offset() == ({"sec": 20, "ord": 7} if allowed else None)
    said = _said(caplog, capsys)
    assert "shard one" in said
    assert ("internal.mongodb.allow.offset.invalidation=true" in said) == (not allowed)


@pytest.mark.parametrize(
    ("dump", "said"),
    [
        ({None: _at(20, initsync=True)}, "snapshot was not finished: start without its offset, with a new snapshot"),
        ({"gone": _at(20)}, "know nothing of shard one, two"),
        ({"one": _at(20), "two": _at(20, initsync="true")}, "snapshot was not finished"),
        ({}, "0 connectors have topic.prefix 'g'"),
    ],
)
def test_what_does_not_say_where_to_go_on(
    cluster: Router,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    dump: Dump,
    said: str,
) -> None:
    pipeline = _pipeline(tmp_path, cluster.uri, **TRUE)
    assert _imported(pipeline, dump) == 7
    assert said in _said(caplog, capsys)
    assert pipeline.offset() is None


def test_an_unfinished_incremental_snapshot_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = _pipeline(tmp_path, "mongodb://127.0.0.1:1")
    left = {"incremental_snapshot_collections": '[{"incremental_snapshot_collections_id":"d.a"}]'}
    assert _imported(pipeline, {None: _at(20, **left)}) == 0
    assert "an incremental snapshot was not finished" in _said(caplog, capsys)


@pytest.mark.parametrize("form", ["3", "2 hexadecimal", "1.9 time alone"])
def test_the_stream_goes_on_behind_what_was_told(
    mongo: MongoReplicaSet, own_database: Own, tmp_path: Path, form: str
) -> None:
    """With a token, behind that very event; with the time alone, with the event of that time."""
    capture = Capture(mongo.uri, database_include_list=own_database.name)
    capture.once()
    own_database.a.insert_one({"_id": 1})
    capture.once()
    own = capture.offset or {}
    own_database.a.insert_one({"_id": 2})
    place = {"sec": own["sec"], "ord": own["ord"]}
    token = own["resume_token"]
    dumps: dict[str, Dump] = {
        "3": {None: {**place, "resume_token": token}},
        "2 hexadecimal": {"rs0": {**place, "resume_token": token_of(token)["_data"], "transaction_id": None}},
        "1.9 time alone": {"rs0": {**place, "h": None, "transaction_id": None}},
    }
    pipeline = _pipeline(tmp_path, mongo.uri, **{"database.include.list": own_database.name})
    assert _imported(pipeline, dumps[form]) == 0
    capture.offset = pipeline.offset()
    assert [shown(record)[1] for record in capture.once()] == (["1", "2"] if "alone" in form else ["2"])


def _said(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> str:
    said = caplog.text + capsys.readouterr().err
    assert PASSWORD not in said
    return said
