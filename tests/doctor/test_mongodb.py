"""The oplog's window, forecast on a replica set whose oplog drops what is old."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from pymongo import MongoClient

from cdckit_mongodb.server import clock
from doctor.conftest import NewPatient
from mongodb.small_oplog import fill_the_oplog, forgetful
from testkit.servers.mongodb import MongoReplicaSet


@pytest.fixture(scope="module")
def small() -> Iterator[tuple[MongoReplicaSet, MongoClient[Any]]]:
    """A set with a small oplog, and a client of it."""
    with forgetful() as replica_set, replica_set.client() as client:
        yield replica_set, client


def source(replica_set: MongoReplicaSet, **options: Any) -> dict[str, Any]:
    return {
        "type": "mongodb",
        "topic.prefix": "m",
        "mongodb.connection.string": replica_set.uri,
        "collection.include.list": r"shop\..*",
        **{name.replace("__", "."): value for name, value in options.items()},
    }


def test_the_window_of_the_oplog_is_forecast(
    small: tuple[MongoReplicaSet, MongoClient[Any]], patient: NewPatient
) -> None:
    """First it has room; full, it drops the place soon; a longer retention mends that."""
    replica_set, client = small
    client.shop.orders.insert_one({"n": 1})
    made = patient(source(replica_set))
    assert made.run() == 0
    roomy = made.told("log")
    assert roomy["message"].startswith("the oplog at 20")
    fill_the_oplog(client, {"sec": 0})
    deadline = time.monotonic() + 60
    while (near := made.told("log"))["severity"] == "ok" and time.monotonic() < deadline:
        client.filling.a.insert_many([{"text": "x" * 100_000} for _ in range(10)])
    assert near["number"] == "CDC1101"
    assert re.search(r"is purged in \d+ (s|min \d\d s) \(the oplog holds \d+ MiB\)", near["message"]), near
    assert "replSetResizeOplog" in near["remedy"]
    client.admin.command({"replSetResizeOplog": 1, "minRetentionHours": 48.0})
    try:
        mended = made.told("log")
    finally:
        client.admin.command({"replSetResizeOplog": 1, "minRetentionHours": 0.0})
    assert mended["severity"] == "ok"
    assert "minRetentionHours = 48" in mended["message"]


@pytest.mark.unequal("change streams have no events of time series", always=False)
def test_time_series_are_told(
    mongo: MongoReplicaSet, unique_name: str, patient: NewPatient, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is written to them after the snapshot is in no event."""
    with mongo.client() as client:
        client[unique_name].a.insert_one({"_id": 1})
        made = patient(source(mongo, collection__include__list=rf"{unique_name}\..*"))
        assert "CDC1226" not in made.findings()
        series = client[unique_name].create_collection("series", timeseries={"timeField": "at"})
        series.insert_one({"_id": 1, "at": datetime(2020, 1, 1)})
        found = made.findings()["CDC1226"]
        capsys.readouterr()
        assert made.run() == 0
        series.insert_one({"_id": 2, "at": datetime(2020, 1, 2)})
        client[unique_name].a.insert_one({"_id": 2})
        assert made.run() == 0
        logged = capsys.readouterr().err
        client.drop_database(unique_name)
    said = f"{unique_name}.series: of time series snapshots have the documents"
    assert (found["severity"], found["message"].startswith(said), logged.count(said)) == ("warn", True, 2)
    lines = [json.loads(line) for line in (made.folder / "out.jsonl").read_text().splitlines()]
    assert sorted(line["topic"].rpartition(".")[2] for line in lines) == ["a", "a", "series"]


def test_clocks_that_differ_are_told(
    small: tuple[MongoReplicaSet, MongoClient[Any]], patient: NewPatient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock here is set, as no test may set the machine's."""
    made = patient(source(small[0]))
    code, _ = made.examined()
    assert code == 0
    assert "CDC1218" not in made.findings()
    here = time.time
    monkeypatch.setattr(clock, "time", SimpleNamespace(time=lambda: here() + 100))
    found = made.findings()["CDC1218"]
    assert re.fullmatch(r"the server's clock is (99|100)\.\d s behind the one here", found["message"])
