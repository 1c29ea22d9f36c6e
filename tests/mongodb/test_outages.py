"""Servers that go away while a pipeline follows them: it waits, goes on when they are back, or ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit_mongodb.server.connection import connect, end
from mongodb.capture import Capture
from mongodb.unreplicated import wait_for
from testkit.running import Pipeline, Running, to_file
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.process import halt

Events = list[tuple[str, str]]


@pytest.fixture(scope="module")
def fragile() -> Iterator[MongoReplicaSet]:
    """A set of one member, which may be killed."""
    with MongoReplicaSet() as replica_set:
        yield replica_set


def _pipeline(replica_set: MongoReplicaSet, folder: Path, database: str, **options: Any) -> Pipeline:
    source = {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": replica_set.uri,
        "mongodb.server.selection.timeout.ms": 300,
        "connect.backoff.initial.delay.ms": 20,
        "connect.backoff.max.delay.ms": 40,
        "database.include.list": database,
        **{name.replace("_", "."): value for name, value in options.items()},
    }
    return to_file(folder, source)


def _insert(replica_set: MongoReplicaSet, database: str, number: int) -> None:
    with replica_set.client() as client:
        client[database].a.insert_one({"_id": number})


def _events(pipeline: Pipeline) -> Events:
    if not pipeline.output.exists():
        return []
    return [(event["value"]["op"], event["key"]["id"]) for event in pipeline.events()]


def _has(process: Running, events: Events) -> None:
    process.wait_until(lambda: _events(process.pipeline) == events, f"{events}")


def test_a_server_that_is_back_is_read_on(fragile: MongoReplicaSet, unique_name: str, tmp_path: Path) -> None:
    """A second outage has all its attempts again."""
    _insert(fragile, unique_name, 0)
    pipeline = _pipeline(fragile, tmp_path, unique_name)
    events = [("r", "0")]
    with pipeline.running() as process:
        _has(process, events)
        for outage in (1, 2):
            fragile.nodes[0].kill()
            process.wait_for("trying again in 0.02 s (attempt 1 of 16)", outage)
            process.wait_for("trying again in 0.04 s (attempt 3 of 16)", outage)
            fragile.nodes[0].start()
            _insert(fragile, unique_name, outage)
            events.append(("c", str(outage)))
            _has(process, events)
        assert process.stop().code == 0


def test_a_server_that_is_away_for_too_long_ends_the_pipeline(
    fragile: MongoReplicaSet, unique_name: str, tmp_path: Path
) -> None:
    """After two rounds of two attempts; the next start goes on."""
    _insert(fragile, unique_name, 0)
    options = {"connect_max_attempts": 2, "errors_max_retries": 1, "retriable_restart_connector_wait_ms": 10}
    pipeline = _pipeline(fragile, tmp_path, unique_name, **options)
    with pipeline.running() as process:
        _has(process, [("r", "0")])
        before = len(process.log)
        fragile.nodes[0].kill()
        ended = process.ended()
    fragile.nodes[0].start()
    assert ended.code == 3
    said = ended.stderr[before:].splitlines()
    waits = [line.rpartition("trying again in ")[2] for line in said if "trying again" in line]
    assert waits == [
        "0.02 s (attempt 1 of 2)",
        "0.04 s (attempt 2 of 2)",
        "0.01 s (restart 1 of 1)",
        "0.02 s (attempt 1 of 2)",
        "0.04 s (attempt 2 of 2)",
    ]
    assert fragile.nodes[0].address in ended.errors
    assert "gave up after 5 attempts (connect.max.attempts, errors.max.retries)" in ended.errors
    _insert(fragile, unique_name, 1)
    assert pipeline.run("--once").code == 0
    assert _events(pipeline) == [("r", "0"), ("c", "1")]


def test_a_server_that_hangs_is_noticed_and_read_on(fragile: MongoReplicaSet, unique_name: str, tmp_path: Path) -> None:
    """By the driver's monitoring: answers may take as long as they want."""
    _insert(fragile, unique_name, 0)
    watchful = {"mongodb_heartbeat_frequency_ms": 500, "mongodb_connect_timeout_ms": 500}
    pipeline = _pipeline(fragile, tmp_path, unique_name, connect_max_attempts=1000, **watchful)
    server = fragile.nodes[0].pid
    assert server is not None
    with pipeline.running() as process:
        _has(process, [("r", "0")])
        halt(server)
        try:
            process.wait_for("trying again")
        finally:
            os.kill(server, signal.SIGCONT)
        _insert(fragile, unique_name, 1)
        _has(process, [("r", "0"), ("c", "1")])
        assert process.stop().code == 0


def test_a_stop_ends_the_wait_for_a_server_that_was_lost(
    fragile: MongoReplicaSet, unique_name: str, tmp_path: Path
) -> None:
    _insert(fragile, unique_name, 0)
    day = 86_400_000
    waits = {"connect_backoff_initial_delay_ms": day, "connect_backoff_max_delay_ms": day}
    # At the start it would wait as long, where a busy machine lets it find the server too late.
    pipeline = _pipeline(fragile, tmp_path, unique_name, mongodb_server_selection_timeout_ms=3000, **waits)
    with pipeline.running() as process:
        _has(process, [("r", "0")])
        fragile.nodes[0].kill()
        process.wait_for("trying again")
        assert process.stop().code == 0
    fragile.nodes[0].start()
    _insert(fragile, unique_name, 1)
    assert pipeline.run("--once").code == 0
    assert _events(pipeline) == [("r", "0"), ("c", "1")]


@pytest.mark.timeout(120)
def test_a_client_ends_though_its_server_is_away(fragile: MongoReplicaSet) -> None:
    """However long it would wait for one to read from."""
    capture = Capture(fragile.uri, mongodb_server_selection_timeout_ms=600_000, mongodb_heartbeat_frequency_ms=500)
    client = connect(capture.config())
    assert client.list_database_names()  # in a session, which the server is asked to forget
    fragile.nodes[0].kill()
    wait_for(lambda: not client.topology_description.has_readable_server(), "the client knows of it", 60)
    end(client)
    fragile.nodes[0].start()
