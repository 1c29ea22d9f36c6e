"""Primaries that step down or are killed while others write."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from pymongo import MongoClient, WriteConcern
from pymongo.errors import PyMongoError

from mongodb.capture import Capture, shown
from mongodb.unreplicated import wait_for
from testkit.servers.mongodb import MongoReplicaSet

Document = dict[str, Any]

_SECONDS = 60.0


@pytest.fixture(scope="module")
def replica_set() -> Iterator[MongoReplicaSet]:
    """A set of three members, any of which may be killed."""
    with MongoReplicaSet(nodes=3) as members:
        yield members


class Writer:
    """Inserts numbers one after the other, each safe on a majority, until it is stopped."""

    def __init__(self, client: MongoClient[Document], database: str) -> None:
        self.written: list[int] = []
        self._collection = client[database].get_collection("a", write_concern=WriteConcern("majority", wtimeout=30_000))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        number = 0
        while not self._stopped.is_set():
            number += 1
            while not self._insert(number):
                time.sleep(0.05)
            self.written.append(number)

    def _insert(self, number: int) -> bool:
        try:
            self._collection.update_one({"_id": number}, {"$set": {"v": number}}, upsert=True)
        except PyMongoError:
            return False
        return True

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def wait(self, more: int) -> None:
        """Until so many more are written."""
        until = len(self.written) + more
        while len(self.written) < until:
            time.sleep(0.01)


def _steps_down(replica_set: MongoReplicaSet) -> bool:
    """Whether the primary did: it does not where it is none any more, or no other member has caught up in time."""
    with replica_set.primary().client() as primary, suppress(PyMongoError):
        primary.admin.command("replSetStepDown", 2, secondaryCatchUpPeriodSecs=1)
        return True
    return False


@pytest.mark.nightly
def test_a_new_primary_goes_on_with_nothing_missing(replica_set: MongoReplicaSet, unique_name: str) -> None:
    """Stepped down, then killed: every write that a majority has comes, in order; the elections are counted."""
    replica_set.wait_until_complete()
    with replica_set.client() as client:
        client[unique_name].create_collection("a")
        capture = Capture(replica_set.uri, database_include_list=unique_name, mongodb_heartbeat_frequency_ms=500)
        done = threading.Event()
        last: list[int] = []

        def finished() -> bool:
            return done.is_set() and bool(capture.records) and int(shown(capture.records[-1])[1]) >= last[0]

        reading = threading.Thread(target=capture.follow, args=(finished,))
        reading.start()
        try:
            with Writer(client, unique_name) as writer:
                writer.wait(50)
                wait_for(lambda: bool(capture.records), "the first record", _SECONDS)
                wait_for(lambda: _steps_down(replica_set), "a primary that steps down", _SECONDS)
                writer.wait(50)
                wait_for(lambda: capture.counts.elections >= 1, "an election that is seen", _SECONDS)
                old = replica_set.primary()
                old.kill()
                writer.wait(50)
                old.start()
            last.append(writer.written[-1])
        finally:
            done.set()
            reading.join(60)
        created = [int(shown(record)[1]) for record in capture.records if shown(record)[0] in ("c", "r")]
        positions = [record.position for record in capture.records]
    assert sorted(set(created)) == writer.written
    assert list(dict.fromkeys(created)) == writer.written
    assert positions == sorted(positions)
    assert capture.counts.elections >= 2


def test_nothing_is_lost_between_snapshot_and_stream(replica_set: MongoReplicaSet, unique_name: str) -> None:
    """While others write, what a majority has lags behind the primary."""
    replica_set.wait_until_complete()
    with replica_set.client() as client:
        client[unique_name].create_collection("a")
        captures = [Capture(replica_set.uri, database_include_list=unique_name) for _ in range(12)]
        with Writer(client, unique_name) as writer:
            writer.wait(20)
            for capture in captures:
                capture.once()
        for capture in captures:
            capture.once()
            assert {int(shown(record)[1]) for record in capture.records} == set(writer.written)
