"""`readPreference` of the connection string, which the stream follows as snapshots do, on a set of three members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient, WriteConcern
from pymongo.errors import PyMongoError

from cdckit.errors import RetriableSourceError
from cdckit_mongodb.snapshot.whole import note_moment
from cdckit_mongodb.source import MongoDbSource
from cdckit_mongodb.streaming.cursor import ChangeStream
from mongodb.capture import Capture, shown
from mongodb.unreplicated import Document, insert, replicate, wait_for
from testkit.servers.mongodb import MongoNode, MongoReplicaSet

_MAJORITY = WriteConcern("majority")
_SECONDS = 60.0
_STREAMS = {"$match": {"cursor.originatingCommand.pipeline.$changeStream": {"$exists": True}}}


@pytest.fixture
def three() -> Iterator[MongoReplicaSet]:
    """Three members, which may be told not to replicate."""
    with MongoReplicaSet(nodes=3, setParameter="enableTestCommands=1") as made:
        yield made


def _capture(replica_set: MongoReplicaSet, database: str, preference: str, **options: Any) -> Capture:
    uri = f"{replica_set.uri}&readPreference={preference}"
    return Capture(uri, database_include_list=database, mongodb_heartbeat_frequency_ms=500, **options)


def _read(replica_set: MongoReplicaSet) -> list[MongoNode]:
    """The members that have a change stream of ours open."""
    return [node for node in replica_set.nodes if node.pid is not None and _has_stream(node)]


def _has_stream(node: MongoNode) -> bool:
    try:
        with node.client() as client:
            return any(client.admin.aggregate([{"$currentOp": {"allUsers": True, "idleCursors": True}}, _STREAMS]))
    except PyMongoError:
        return False


def _ids(capture: Capture) -> list[int]:
    return [int(shown(record)[1]) for record in capture.records]


def test_the_stream_is_read_from_the_members_that_are_asked_for(
    three: MongoReplicaSet, unique_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    primary = three.primary()
    for number, (preference, of_the_primary) in enumerate(
        [("secondary", False), ("secondaryPreferred", False), ("primaryPreferred", True), ("primary", True)]
    ):
        caplog.clear()
        capture = _capture(three, unique_name, preference, snapshot_mode="no_data")
        capture.once()
        with three.client() as client:
            insert(client, unique_name, range(number, number + 1), _MAJORITY)
        seen: list[MongoNode] = []

        def found(into: list[MongoNode] = seen, capture: Capture = capture) -> bool:
            if capture.records and not into:
                into += _read(three)
            return bool(into)

        capture.follow(until=found)
        assert [node is primary for node in seen] == [of_the_primary], preference
        assert _ids(capture) == [number]
        told = f"the change stream is read from {seen[0].address}"
        assert (told in caplog.text) == (preference != "primary"), preference


def test_a_member_that_dies_is_gone_on_from_at_another(three: MongoReplicaSet, unique_name: str) -> None:
    """Nothing is missing, and nothing comes twice; first a secondary dies, then the primary."""
    capture = _capture(three, unique_name, "secondary", snapshot_mode="no_data")
    capture.once()
    with three.client() as client:
        insert(client, unique_name, range(3), _MAJORITY)
        dead: list[MongoNode] = []

        def kill_the_one_that_is_read() -> bool:
            if len(capture.records) >= 3 and not dead and (read := _read(three)):
                dead.extend(read)
                dead[0].kill()
                insert(client, unique_name, range(3, 6), _MAJORITY)
            return len(capture.records) >= 6

        capture.follow(until=kill_the_one_that_is_read)
        dead[0].start()
        old = three.primary()

        def kill_the_primary() -> bool:
            if len(capture.records) >= 9 and old.pid is not None:
                old.kill()
                three.wait_until_complete()
                insert(client, unique_name, range(9, 12), _MAJORITY)
            return len(capture.records) >= 12

        insert(client, unique_name, range(6, 9), _MAJORITY)
        capture.follow(until=kill_the_primary)
    assert _ids(capture) == list(range(12))


def test_a_member_that_lags_is_waited_for(three: MongoReplicaSet, unique_name: str) -> None:
    """The end of a bounded reading is the cluster's, not that of the member which is read; tags choose that."""
    lagging = next(node for node in three.nodes if node is not three.primary())
    with three.client() as client:
        _tag(client, lagging)
        capture = _capture(three, unique_name, "secondary&readPreferenceTags=role:reports")
        insert(client, unique_name, range(2), WriteConcern(3))
        assert sorted(map(int, (shown(record)[1] for record in capture.once()))) == [0, 1]
        replicate([lagging], "alwaysOn")
        insert(client, unique_name, range(2, 5), _MAJORITY)
        asked: list[int] = []

        def replicates_later() -> bool:
            asked.append(len(capture.records))
            if len(asked) == 8:
                replicate([lagging], "off")
            return False

        capture.once(until=replicates_later)
    assert len(asked) >= 8
    assert asked[7] == 2
    assert _ids(capture)[2:] == [2, 3, 4]


def _tag(client: MongoClient[Document], node: MongoNode) -> None:
    config = client.admin.command("replSetGetConfig")["config"]
    for member in config["members"]:
        member["tags"] = {"role": "reports"} if member["host"] == node.address else {}
    config["version"] += 1
    client.admin.command("replSetReconfig", config)
    wait_for(lambda: "tags" in _hello(node), "the tags", _SECONDS)


def _hello(node: MongoNode) -> Document:
    with node.client() as client:
        return client.admin.command("hello")


def test_the_check_names_the_member(three: MongoReplicaSet, unique_name: str) -> None:
    capture = _capture(three, unique_name, "secondary")
    [found] = [finding for finding in MongoDbSource.check(capture.config()) if finding.name == "change stream"]
    secondaries = {node.address for node in three.nodes if node is not three.primary()}
    assert found.status == "ok"
    assert found.message.partition("at ")[2].removesuffix(" by readPreference") in secondaries


def test_where_no_member_may_be_read_it_is_waited_for(mongo: MongoReplicaSet, unique_name: str) -> None:
    capture = Capture(
        f"{mongo.uri}&readPreference=secondary",
        database_include_list=unique_name,
        mongodb_server_selection_timeout_ms=300,
        snapshot_mode="no_data",
    )
    capture.once()
    with mongo.client() as client:
        insert(client, unique_name, range(1), _MAJORITY)
        with pytest.raises(RetriableSourceError, match=r"No replica set members match selector .Secondary\("):
            capture.once()
        client.drop_database(unique_name)


def test_all_commands_of_a_stream_go_to_one_member(three: MongoReplicaSet, unique_name: str) -> None:
    """The driver alone would choose among three for each."""
    capture = _capture(three, unique_name, "nearest")
    with capture.source() as source:
        client = source._asked()
        for _ in range(5):
            with ChangeStream(client, capture.config(), note_moment(client, capture.config())) as stream:
                opened_at = stream.member
                for _ in range(10):
                    stream.next(1)
                assert stream.member == opened_at != ""
