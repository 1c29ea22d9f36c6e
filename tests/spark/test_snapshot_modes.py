"""Snapshot modes on Spark, with MongoDB: how many snapshots a run takes, and when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from testkit.background import repeated
from testkit.running import to_file
from testkit.servers.mongodb import MongoReplicaSet

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session"), pytest.mark.timeout(600)]

SHUTTING_DOWN = 91


@pytest.fixture(scope="module")
def obliging() -> Iterator[MongoReplicaSet]:
    """A set of one member that fails when told to."""
    with MongoReplicaSet(setParameter="enableTestCommands=1") as replica_set:
        yield replica_set


@pytest.fixture
def client(obliging: MongoReplicaSet) -> Iterator[MongoClient[dict[str, Any]]]:
    with obliging.client() as found:
        yield found


class Modes:
    """One pipeline, run in several modes."""

    def __init__(self, replica_set: MongoReplicaSet, database: str, folder: Path, session: SparkSession) -> None:
        self._source: dict[str, Any] = {
            "type": "mongodb",
            "topic.prefix": "p",
            "mongodb.connection.string": replica_set.uri,
            "mongodb.heartbeat.frequency.ms": 500,
            "database.include.list": database,
        }
        self._spark = {"spark.master": session.sparkContext.master}
        self._folder = folder
        self._seen = 0

    def run(self, mode: str, *, once: bool = True, **options: Any) -> list[tuple[str, str]]:
        """What one run delivers, as operations and ids."""
        given = {name.replace("_", "."): value for name, value in options.items()}
        source = {**self._source, "snapshot.mode": mode, **given}
        pipeline = to_file(self._folder, source, runner="spark", spark=self._spark)
        SparkRunner(load_pipeline(pipeline.written())).run(once=once)
        events = [(event["value"]["op"], event["key"]["id"]) for event in pipeline.events()]
        new, self._seen = events[self._seen :], len(events)
        return new


@pytest.fixture
def modes(obliging: MongoReplicaSet, unique_name: str, tmp_path: Path, session: SparkSession) -> Modes:
    return Modes(obliging, unique_name, tmp_path, session)


@contextmanager
def _failing_once(client: MongoClient[dict[str, Any]], collection: str) -> Iterator[None]:
    """Has a query of a collection fail, and the driver's own second attempt."""
    data = {"failCommands": ["find"], "appName": "cdckit", "namespace": collection, "errorCode": SHUTTING_DOWN}
    client.admin.command({"configureFailPoint": "failCommand", "mode": {"times": 2}, "data": data})
    try:
        yield
    finally:
        client.admin.command({"configureFailPoint": "failCommand", "mode": "off"})


def test_always_takes_one_snapshot_a_run(
    modes: Modes, client: MongoClient[dict[str, Any]], unique_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Though the query is started anew in its middle, and the oplog goes on meanwhile."""
    documents = client[unique_name].a
    documents.insert_one({"_id": 1})
    assert modes.run("always") == [("r", "1")]
    documents.insert_one({"_id": 2})
    elsewhere = client[f"{unique_name}_other"].a
    with _failing_once(client, f"{unique_name}.a"), repeated(lambda: elsewhere.insert_one({}), 0.1):
        assert sorted(modes.run("always")) == [("r", "1"), ("r", "2")]
    assert "trying again" in caplog.text
    documents.insert_one({"_id": 3})
    assert modes.run("initial") == [("c", "3")]


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("initial_only", {}),
        (
            "configuration_based",
            {
                "snapshot_mode_configuration_based_snapshot_data": True,
                "snapshot_mode_configuration_based_start_stream": False,
            },
        ),
    ],
)
def test_a_mode_without_the_stream_ends_the_pipeline(
    modes: Modes, client: MongoClient[dict[str, Any]], unique_name: str, mode: str, options: dict[str, Any]
) -> None:
    """It is not asked to run but once."""
    client[unique_name].a.insert_one({"_id": 1})
    assert modes.run(mode, once=False, **options) == [("r", "1")]
    client[unique_name].a.insert_one({"_id": 2})
    assert modes.run(mode, once=False, **options) == []


def test_a_configured_mode_without_documents(
    modes: Modes, client: MongoClient[dict[str, Any]], unique_name: str
) -> None:
    options = {"snapshot_mode_configuration_based_start_stream": True}
    client[unique_name].a.insert_one({"_id": 1})
    assert modes.run("configuration_based", **options) == []
    client[unique_name].a.insert_one({"_id": 2})
    assert modes.run("configuration_based", **options) == [("c", "2")]
