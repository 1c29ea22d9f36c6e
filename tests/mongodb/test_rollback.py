"""Writes that the primary alone has: nobody tells of them. One that dies with them takes them back when it returns."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from pymongo import MongoClient, WriteConcern

from cdckit.connector.incremental import Wanted
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.incremental.collection_chunks import CollectionChunks
from cdckit_mongodb.incremental.session import SnapshotSession
from mongodb.capture import Capture, shown
from mongodb.unreplicated import ONE, Document, cut_off, insert, replicate, taken_back, wait_for
from testkit.servers.mongodb import MongoReplicaSet

_SECONDS = 60.0


class _Following:
    """A capture that reads until the end of the context."""

    def __init__(self, uri: str, database: str) -> None:
        self.capture = Capture(uri, database_include_list=database, mongodb_heartbeat_frequency_ms=500)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self.capture.follow, args=(self._done.is_set,))

    def __enter__(self) -> Capture:
        self._thread.start()
        return self.capture

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(_SECONDS)


def _numbers(capture: Capture) -> list[int]:
    return [int(shown(record)[1]) for record in capture.records]


def _reads(client: MongoClient[Document], database: str) -> bool:
    """Whether somebody reads the collection now."""
    stages: list[Document] = [{"$currentOp": {}}, {"$match": {"command.find": "a", "command.$db": database}}]
    return bool(list(client.admin.aggregate(stages)))


@pytest.fixture(scope="module")
def replica_set() -> Iterator[MongoReplicaSet]:
    """Three members, which may be told not to replicate."""
    with MongoReplicaSet(nodes=3, setParameter="enableTestCommands=1") as made:
        yield made


def test_what_is_rolled_back_never_was(replica_set: MongoReplicaSet, unique_name: str) -> None:
    """Neither the stream nor a snapshot shows it; what a majority has comes whole and in order."""
    with replica_set.client() as client:
        majority = WriteConcern("majority")
        before, lost, between, after = range(20), range(100, 120), range(200, 220), range(300, 320)
        insert(client, unique_name, before, majority)
        with _Following(replica_set.uri, unique_name) as capture, ExitStack() as stack:
            wait_for(lambda: len(capture.records) == len(before), "the end of the snapshot", _SECONDS)
            old = replica_set.primary()
            others = [node for node in replica_set.nodes if node is not old]
            cut_off(old, others)
            insert(client, unique_name, lost, ONE)
            late = stack.enter_context(_Following(replica_set.uri, unique_name))
            wait_for(lambda: _reads(client, unique_name), "a snapshot that waits for a majority", _SECONDS)
            old.kill()
            replicate(others, "off")
            insert(client, unique_name, between, majority)
            known = taken_back(old)
            old.start()
            wait_for(lambda: taken_back(old) > known, "what the old primary has taken back", _SECONDS)
            insert(client, unique_name, after, majority)
            expected = [*before, *between, *after]
            wait_for(lambda: _numbers(capture)[-1] == after[-1], "the last record", _SECONDS)
            wait_for(lambda: set(expected) <= set(_numbers(late)), "all records of the late one", _SECONDS)
    assert _numbers(capture) == expected
    assert set(_numbers(late)) == set(expected)


def test_a_chunk_of_an_incremental_snapshot_is_what_a_majority_has(
    replica_set: MongoReplicaSet, unique_name: str
) -> None:
    """Its second mark may be written to the next primary, while a stream that is read from another member goes on."""
    config = Capture(replica_set.uri, database_include_list=unique_name).config()
    old = replica_set.primary()
    others = [node for node in replica_set.nodes if node is not old]
    with replica_set.client() as client, ExitStack() as stack:
        insert(client, unique_name, range(5), WriteConcern("majority"))
        cut_off(old, others)
        stack.callback(replicate, others, "off")
        insert(client, unique_name, range(5, 10), ONE)
        session = SnapshotSession(client)
        stack.callback(session.close)
        chunks = CollectionChunks(config, Filters(config), session)
        wanted = Wanted(f"{unique_name}.a")
        last = chunks.last(wanted)
        assert last is not None
        assert [row["_id"] for row in chunks.read(wanted, None, last).rows.values()] == [*range(5)]
        assert chunks.text(last) == "4"
