"""Errors of a server that pass, and those that do not: the server is made to answer with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cdckit.errors import RetriableSourceError, SourceError
from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture, shown
from testkit.servers.mongodb import MongoReplicaSet

PATIENCE = {
    "connect_backoff_initial_delay_ms": 10,
    "connect_max_attempts": 3,
    "errors_max_retries": 0,
    "mongodb_server_selection_timeout_ms": 3000,
    "mongodb_heartbeat_frequency_ms": 500,
}
NOT_PRIMARY, STEPPED_DOWN, SHUTTING_DOWN, NO_CURSOR, UNREACHABLE, NO_MAJORITY = 10107, 189, 91, 43, 6, 134
NOT_ALLOWED, NO_SUCH_COMMAND = 13, 59


@pytest.fixture(scope="module")
def obliging() -> Iterator[MongoReplicaSet]:
    """A set of one member that fails when told to."""
    with MongoReplicaSet(setParameter="enableTestCommands=1") as replica_set:
        yield replica_set


Failing = Callable[..., Any]


@pytest.fixture
def failing(obliging: MongoReplicaSet) -> Failing:
    """Has commands of the source answered with an error: so often, or always within the context."""

    @contextmanager
    def fail(command: str, code: int, times: int = 0) -> Iterator[None]:
        data = {"failCommands": [command], "appName": "cdckit", "errorCode": code}
        with obliging.client() as client:
            mode = {"times": times} if times else "alwaysOn"
            client.admin.command({"configureFailPoint": "failCommand", "mode": mode, "data": data})
            try:
                yield
            finally:
                client.admin.command({"configureFailPoint": "failCommand", "mode": "off"})

    return fail


def _capture(replica_set: MongoReplicaSet, database: str, **options: Any) -> Capture:
    return Capture(replica_set.uri, database_include_list=database, **PATIENCE, **options)


def _insert(replica_set: MongoReplicaSet, database: str, *numbers: int) -> None:
    with replica_set.client() as client:
        client[database].a.insert_many({"_id": number} for number in numbers)


@pytest.mark.parametrize("code", [NOT_PRIMARY, STEPPED_DOWN, SHUTTING_DOWN, NO_CURSOR, UNREACHABLE])
def test_the_stream_is_opened_anew(obliging: MongoReplicaSet, failing: Failing, unique_name: str, code: int) -> None:
    _insert(obliging, unique_name, 0)
    capture = _capture(obliging, unique_name)
    capture.once()
    _insert(obliging, unique_name, 1, 2)
    with failing("getMore", code, 2):
        capture.follow(lambda: len(capture.records) == 3)
    assert [shown(record)[:2] for record in capture.records] == [("r", "0"), ("c", "1"), ("c", "2")]


@pytest.mark.parametrize("code", [NOT_PRIMARY, NO_MAJORITY])
def test_the_snapshot_is_read_anew(obliging: MongoReplicaSet, failing: Failing, unique_name: str, code: int) -> None:
    """The driver tries once more by itself, the pipeline after it."""
    _insert(obliging, unique_name, 0)
    capture = _capture(obliging, unique_name)
    with failing("find", code, 3):
        capture.follow(lambda: bool(capture.records))
    assert [shown(record)[:2] for record in capture.records] == [("r", "0")]


@pytest.mark.parametrize("command", ["aggregate", "getMore"])
def test_attempts_that_all_fail_come_to_an_end(
    obliging: MongoReplicaSet, failing: Failing, unique_name: str, command: str
) -> None:
    """Where the stream can be opened and never read, too."""
    _insert(obliging, unique_name, 0)
    capture = _capture(obliging, unique_name)
    capture.once()
    with failing(command, NOT_PRIMARY), pytest.raises(SourceError, match="gave up after 3 attempts"):
        capture.follow(lambda: False)
    _insert(obliging, unique_name, 1)
    assert [shown(record)[:2] for record in capture.once()] == [("c", "1")]


@pytest.mark.parametrize("code", [NOT_ALLOWED, NO_SUCH_COMMAND])
def test_a_refusal_ends_at_once(obliging: MongoReplicaSet, failing: Failing, unique_name: str, code: int) -> None:
    _insert(obliging, unique_name, 0)
    capture = _capture(obliging, unique_name)
    capture.once()
    with failing("getMore", code), pytest.raises(SourceError) as found:
        capture.follow(lambda: False)
    assert not isinstance(found.value, RetriableSourceError)
    assert "gave up" not in str(found.value)


@pytest.mark.parametrize(("code", "remedy"), [(NOT_PRIMARY, "look again in a while"), (NOT_ALLOWED, "grant")])
def test_validate_tells_a_lost_primary_from_a_missing_right(
    obliging: MongoReplicaSet, failing: Failing, unique_name: str, code: int, remedy: str
) -> None:
    with failing("aggregate", code):
        found = {finding.name: finding for finding in MongoDbSource.check(_capture(obliging, unique_name).config())}
    assert found["change stream"].status == "fail"
    assert found["change stream"].remedy.startswith(remedy)


def test_validate_tells_a_set_without_primary(obliging: MongoReplicaSet, unique_name: str) -> None:
    """Its only member steps down for a while."""
    (node,) = obliging.nodes
    with node.client() as client:
        client.admin.command("replSetStepDown", 60, force=True)
        capture = _capture(obliging, unique_name)
        capture.options["mongodb.server.selection.timeout.ms"] = 1000
        (found,) = MongoDbSource.check(capture.config())
        client.admin.command("replSetFreeze", 0)
    obliging.wait_until_complete()
    assert (found.name, found.status) == ("connection", "fail")
    assert f"no primary: {node.address} is a secondary" in found.message
