"""The first connection: servers that are away are waited for; those that can never be the ones are refused at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.errors import ConfigError, RetriableSourceError, SourceError
from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture, change
from mongodb.router import Router
from mongodb.secured import SecuredNode
from testkit.running import PASSWORD, Pipeline, to_file
from testkit.servers.mongodb import MongoNode, MongoReplicaSet
from testkit.servers.ports import free_port

DAY = 86_400_000


@pytest.fixture(scope="module")
def alone() -> Iterator[MongoNode]:
    """A server that is no member of a set."""
    node = MongoNode("rs0")
    node.start(replSet=None)
    yield node
    node.close()


def _pipeline(folder: Path, uri: str, **options: Any) -> Pipeline:
    source = {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": uri,
        "mongodb.server.selection.timeout.ms": 300,
        "connect.backoff.initial.delay.ms": 20,
        **{name.replace("_", "."): value for name, value in options.items()},
    }
    return to_file(folder, source)


def test_servers_that_are_away_at_the_start_are_waited_for_so_often(tmp_path: Path) -> None:
    host = f"127.0.0.1:{free_port()}"
    uri = f"mongodb://u:{PASSWORD}@{host}/?replicaSet=rs0"
    waits = {"connect_max_attempts": 3, "connect_backoff_max_delay_ms": 40}
    ended = _pipeline(tmp_path, uri, mongodb_server_selection_timeout_ms=900, **waits).run()
    assert ended.code == 3
    said = ended.stderr.splitlines()
    attempts = [line.rpartition("trying again in ")[2] for line in said if "trying again in" in line]
    assert attempts == [f"{wait} s (attempt {number} of 3)" for number, wait in ((1, 0.02), (2, 0.04), (3, 0.04))]
    first = next(line for line in said if "Connection refused" in line)
    assert "waiting for one, up to 0.9 s" in first, "what is wrong is said at once"
    assert (
        f"{host}, connecting: no primary: {host}: [Errno 111] Connection refused; check mongodb.connection.string; "
        "gave up after 3 attempts (connect.max.attempts, errors.max.retries)"
    ) in ended.errors


def test_a_set_that_comes_up_late_is_read(tmp_path: Path) -> None:
    """First there is no server, then one that is not initiated, then a primary."""
    node = MongoNode("rs0")
    pipeline = _pipeline(
        tmp_path, f"mongodb://{node.address}", connect_max_attempts=1000, connect_backoff_max_delay_ms=40
    )
    try:
        with pipeline.running("--once") as process:
            process.wait_for("Connection refused; check mongodb.connection.string; trying again in 0.0")
            node.start()
            process.wait_for(f"no primary: {node.address} is not initiated")
            with node.client() as client:
                member = {"_id": 0, "host": node.address}
                client.admin.command("replSetInitiate", {"_id": "rs0", "members": [member]})
            ended = process.ended()
    finally:
        node.close()
    assert ended.code == 0, ended.stderr
    assert pipeline.offset() is not None


@pytest.mark.parametrize("options", [{"connect.backoff.initial.delay.ms": DAY, "connect.backoff.max.delay.ms": DAY}, {
    "mongodb.server.selection.timeout.ms": DAY}], ids=["between attempts", "during one"])  # fmt: skip
def test_a_pipeline_that_waits_for_its_servers_stops_when_asked_to(tmp_path: Path, options: dict[str, int]) -> None:
    pipeline = _pipeline(tmp_path, f"mongodb://127.0.0.1:{free_port()}")
    waiting = Pipeline(pipeline.folder, {**pipeline.source, **options}, pipeline.sink, pipeline.others)
    with waiting.running() as process:
        process.wait_for("trying again" if len(options) == 2 else "waiting for one")
        ended = process.stop()
    assert ended.code == 0
    assert ended.stderr.count("trying again") == len(options) - 1, "nothing is tried after the wish to stop"


def test_validate_looks_once() -> None:
    host = f"127.0.0.1:{free_port()}"
    capture = Capture(f"mongodb://{host}", mongodb_server_selection_timeout_ms=1000, connect_max_attempts=1000)
    (found,) = MongoDbSource.check(capture.config())
    assert (found.name, found.status) == ("connection", "fail")
    assert f"{host}: [Errno 111] Connection refused" in found.message


def _refusal(uri: str, **options: Any) -> str:
    """What a set of options ends with, at once: it would not be waited for."""
    capture = Capture(uri, mongodb_server_selection_timeout_ms=DAY, **options)
    with pytest.raises(SourceError) as found:
        capture.once()
    assert not isinstance(found.value, RetriableSourceError)
    assert PASSWORD not in str(found.value)
    return str(found.value)


@pytest.mark.parametrize("more", ["", "&directConnection=true"])
def test_another_replica_set_is_refused_with_both_names(mongo: MongoReplicaSet, more: str) -> None:
    address = mongo.nodes[0].address
    said = _refusal(f"mongodb://u:{PASSWORD}@{address}/?replicaSet=other{more}")
    for part in (address, "'rs0'", "'other'", "correct replicaSet in mongodb.connection.string"):
        assert part in said


def test_hosts_of_another_replica_set_are_refused(mongo: MongoReplicaSet) -> None:
    capture = Capture("", mongodb_hosts=f"other/{mongo.nodes[0].address}")
    with pytest.raises(SourceError, match=r"replica set 'rs0', not of 'other': .* or the name in mongodb\.hosts"):
        capture.once()


@pytest.mark.parametrize("more", ["", "?replicaSet=rs0", "?directConnection=true"])
def test_a_server_alone_is_refused(alone: MongoNode, more: str) -> None:
    assert "is a server alone, without an oplog" in _refusal(f"mongodb://{alone.address}/{more}")


def test_a_member_that_is_not_initiated_may_be_so_soon() -> None:
    node = MongoNode("rs0")
    node.start()
    try:
        for more in ("", "?directConnection=true"):
            uri = f"mongodb://{node.address}/{more}"
            with pytest.raises(RetriableSourceError, match="is not initiated as a member of a replica set"):
                Capture(uri, mongodb_server_selection_timeout_ms=1000).once()
    finally:
        node.close()


def test_a_server_that_speaks_no_tls(mongo: MongoReplicaSet) -> None:
    uri = f"mongodb://{mongo.nodes[0].address}/"
    with pytest.raises(RetriableSourceError, match=r"SSL handshake failed.*; does it speak TLS"):
        Capture(uri, mongodb_ssl_enabled=True, mongodb_server_selection_timeout_ms=1000).once()


def test_a_server_that_wants_tls(secured: SecuredNode) -> None:
    uri = f"mongodb://{secured.address}/"
    with pytest.raises(RetriableSourceError, match=r"connection closed; may it want TLS"):
        Capture(uri, mongodb_server_selection_timeout_ms=1000).once()


def test_a_connection_string_that_cannot_be_is_refused() -> None:
    for uri, said in (
        ("http://127.0.0.1", r"source: mongodb\.connection\.string should begin with mongodb:// or mongodb\+srv://"),
        (
            f"mongodb://u:{PASSWORD}@localhost:99999",
            r"source\.mongodb\.connection\.string cannot be used: Port must be",
        ),
    ):
        with pytest.raises(ConfigError, match=said) as found:
            Capture(uri).once()
        assert PASSWORD not in str(found.value)


def test_hosts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"mongodb\.hosts has members of several replica sets \(rs0, rs1\)"):
        Capture("", mongodb_hosts="rs0/a:1;rs1/b:2").config()
    assert Capture("", mongodb_hosts="rs0/a:1, rs0/b:2").config().uri == "mongodb://a:1,b:2/?replicaSet=rs0"
    with pytest.raises(ConfigError, match=r"source\.mongodb\.hosts cannot be used"):
        Capture("", mongodb_hosts="a:b:c").once()


@pytest.mark.parametrize(("sharded", "name"), [(False, "rs0"), (True, "cluster")])
def test_events_of_1_9_tell_the_set_by_the_servers_word(
    mongo: MongoReplicaSet, own_database: Database[dict[str, Any]], *, sharded: bool, name: str
) -> None:
    """The connection string names none; a router hides which shard a change was in."""
    own_database.a.insert_one({"_id": 1})
    with Router(mongo.primary().port) as router:
        uri = router.uri if sharded else f"mongodb://{mongo.nodes[0].address}"
        capture = Capture(uri, database_include_list=own_database.name, event_format="1.9")
        capture.once()
        own_database.a.insert_one({"_id": 2})
        capture.once()
    assert [change(record)["source"]["rs"] for record in capture.records] == [name, name]
