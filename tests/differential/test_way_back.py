"""`cdc offsets export`: a live Debezium goes on from the file that it makes, exactly where the pipeline stopped."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from cdckit.cli.main import call
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from differential.both import PROGRAM, SECONDS, differences
from differential.debezium import END_MARK, libraries
from mysql.capture import Capture, config_for
from mysql.recordings import Event, read_events
from testkit.servers.java import ensure_java
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer
from testkit.servers.process import end, spawn, tail

pytestmark = pytest.mark.nightly

TABLES = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9), at DATETIME(3)); CREATE TABLE marker (id INT PRIMARY KEY);"
BEFORE = """
INSERT INTO t VALUES (3, 'c', NULL); UPDATE t SET v = 'd' WHERE id = 1;
START TRANSACTION; INSERT INTO t VALUES (4, 'e', '2024-02-29 12:00:00.125'), (5, 'f', NULL);
DELETE FROM t WHERE id = 2; COMMIT;
"""
BEHIND = """
UPDATE t SET id = 9 WHERE id = 3; START TRANSACTION; INSERT INTO t VALUES (6, 'g', NULL); UPDATE t SET v = NULL; COMMIT;
DELETE FROM t WHERE id = 4; INSERT INTO marker VALUES (1);
"""
TIMES = ("ts_ms", "ts_us", "ts_ns")
"""When an event was made, of the envelope; the source block has the change's own."""


def _of_mysql(server: MySQLServer, folder: Path, database: str, number: int) -> dict[str, Any]:
    return {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "database.hostname": server.host,
        "database.port": server.port,
        "database.user": "dbz",
        "database.password": "dbz",
        "database.server.id": 710_000 + number,
        "database.include.list": database,
        "driver.allowPublicKeyRetrieval": "true",
        "include.schema.changes": "false",
        "snapshot.mode": "recovery",  # the pipeline's history is its own; the tables are what they were
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": folder / f"{number}.history",
    }


def _of_mongodb(mongo: MongoReplicaSet, database: str) -> dict[str, Any]:
    return {
        "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": database,
    }


class Handover:
    """A pipeline and the connector that takes its place.

    Args:
        folder: of all their files.
        number: the names of its files.
        options: what both read.
    """

    def __init__(self, folder: Path, number: int, options: dict[str, Any]) -> None:
        self.own, self.peer = folder / f"{number}.own.jsonl", folder / f"{number}.peer.jsonl"
        self._file, self._offsets = folder / f"{number}.properties", folder / f"{number}.offsets"
        self._settings = [f"state={folder / f'{number}.state'}", f"sink.path={self.own}"]
        self._settings += ["serializer.header.format=json", f"source.database.server.id={810_000 + number}"]
        self._settings += ["source.snapshot.mode=initial"]
        if "mongodb.connection.string" in options:
            self._settings = [setting for setting in self._settings if "server.id" not in setting]
        both = {
            "name": f"engine-{number}",
            "topic.prefix": f"g{number}",
            "errors.max.retries": 0,
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": self._offsets,
            "offset.flush.interval.ms": 0,
        }
        self._file.write_text("".join(f"{name}={value}\n" for name, value in (both | options).items()))
        self.name = both["name"]

    def run(self) -> None:
        """The pipeline, as far as the log goes."""
        DirectRunner(load_pipeline(self._file, self._settings, runner="direct", sink="file")).run(once=True)

    def set(self, offset: dict[str, Any]) -> None:
        """The pipeline stands at an offset."""
        assert self._cdc("set", json.dumps(offset)) == 0

    def export(self) -> None:
        """The connector is told where the pipeline stands; what it delivered so far is put away."""
        assert self._cdc("export", "--to-debezium", str(self._offsets), "--connector", str(self.name)) == 0
        self.own.unlink(missing_ok=True)

    def _cdc(self, command: str, *arguments: str) -> int:
        settings = [part for setting in self._settings for part in ("--set", setting)]
        chosen = ["--runner", "direct", "--sink", "file", *settings]
        return call(["offsets", command, str(self._file), *chosen, *arguments])


@pytest.fixture(scope="module")
def captured(
    mysql_server: MySQLServer, mongo: MongoReplicaSet, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The folder with the events behind the place of the handover: of the pipeline, and of the live Debezium."""
    if (jars := libraries()) is None:
        pytest.skip("Debezium's jars are missing: pip install 'cdckit[peer]'")
    folder, name = tmp_path_factory.mktemp("way-back"), "way_back"
    databases = [f"{name}_0", f"{name}_1"]
    for database in databases:
        mysql_server.run_sql(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
        mysql_server.run_sql(f"{TABLES} INSERT INTO t VALUES (1, 'a', NULL), (2, 'b', NULL)", database=database)
    handovers = [
        *(Handover(folder, at, _of_mysql(mysql_server, folder, one, at)) for at, one in enumerate(databases)),
        Handover(folder, 2, _of_mongodb(mongo, f"{name}_2")),
    ]
    with mongo.client() as client:
        documents = client[f"{name}_2"].t
        documents.insert_many([{"_id": 1, "v": "a"}, {"_id": 2, "v": "b"}])
        _make_offsets(mysql_server, folder, handovers, databases, documents)
        for handover in handovers:
            handover.export()
        for database in databases:
            mysql_server.run_sql(BEHIND, database=database)
        documents.update_one({"_id": 3}, {"$set": {"v": "x"}})
        documents.delete_one({"_id": 1})
        documents.insert_many([{"_id": 4, "n": [1, 2]}, {"_id": END_MARK}])
        for handover in handovers:
            handover.run()
        _run_debezium(folder, jars)
        yield folder
        client.drop_database(f"{name}_2")
    for database in databases:
        mysql_server.run_sql(f"DROP DATABASE {database}")


def _make_offsets(
    server: MySQLServer, folder: Path, handovers: Sequence[Handover], databases: Sequence[str], documents: Any
) -> None:
    """Each pipeline comes to its place: behind all that there is, or into a transaction."""
    for handover in handovers:
        handover.run()
    documents.insert_one({"_id": 3, "v": "c"})
    documents.delete_one({"_id": 2})
    server.run_sql(BEFORE, database=databases[0])
    config = config_for(server, topic_prefix="g1", database_include_list=databases[1], max_batch_size=1)
    with Capture(config, folder / "mid").closing() as reading:
        reading.once()
        server.run_sql(BEFORE, database=databases[1])
        with reading.following() as batches:
            told = [batch for batch in islice(batches, 40) if batch.records][2]
    for handover in (handovers[0], handovers[2]):
        handover.run()
    handovers[1].run()
    handovers[1].set(dict(told.offset or {}))


def _run_debezium(folder: Path, jars: Path) -> None:
    log = folder / "peer.log"
    program: list[str | Path] = [sys.executable, PROGRAM, folder, jars]
    peer = spawn(program, log, env={"JAVA_HOME": str(ensure_java().resolve().parents[1])})
    try:
        deadline = time.monotonic() + SECONDS
        while peer.poll() is None:
            assert time.monotonic() < deadline, tail(log)
            time.sleep(0.1)
        assert peer.returncode == 0, tail(log)
    finally:
        end(peer, grace=1)


def _events(path: Path) -> list[Event]:
    """Keys and values without what differs: when events were made, and by which version."""
    found = []
    for event in read_events(path):
        value = event["value"] and event["value"].get("payload", event["value"])
        found.append({"topic": event["topic"], "key": event["key"], "value": _without_times(value)})
    return found


def _without_times(value: Any) -> Any:
    if value is None:
        return None
    source = {**value["source"], "version": None}
    return {name: member for name, member in (value | {"source": source}).items() if name not in TIMES}


def _kinds(events: Sequence[Event]) -> list[tuple[str, str | None]]:
    return [(event["topic"].rpartition(".")[2], event["value"] and event["value"]["op"]) for event in events]


def _assert_equal(folder: Path, number: int) -> list[Event]:
    peer, own = (_events(folder / f"{number}.{whose}.jsonl") for whose in ("peer", "own"))
    assert _kinds(peer) == _kinds(own)
    assert not [*differences(peer, own)]
    return peer


def test_mysql_goes_on_behind_the_last_transaction(captured: Path) -> None:
    """Source blocks and all: files, positions, rows and GTIDs are equal."""
    events = _assert_equal(captured, 0)
    assert _kinds(events) == [
        ("t", "d"), ("t", None), ("t", "c"), ("t", "c"), *[("t", "u")] * 5, ("t", "d"), ("t", None), ("marker", "c"),
    ]  # fmt: skip


def test_mysql_tells_a_transaction_again_that_the_pipeline_stood_in(captured: Path) -> None:
    peer, own = (_events(captured / f"1.{whose}.jsonl") for whose in ("peer", "own"))
    again = len(peer) - len(own)
    assert again > 0
    assert _kinds(peer[again:]) == _kinds(own)
    [of] = {event["value"]["source"]["gtid"] for event in peer[:again] if event["value"]}
    assert {event["value"]["source"]["gtid"] for event in own[:1]} == {of}, "the transaction is not over"


def test_mongodb_goes_on_behind_the_last_change(captured: Path) -> None:
    """A delete whose tombstone may be missing is told again; nothing else is."""
    peer, own = (_events(captured / f"2.{whose}.jsonl") for whose in ("peer", "own"))
    again = len(peer) - len(own)
    assert _kinds(peer[again:]) == _kinds(own) == [("t", "u"), ("t", "d"), ("t", None), ("t", "c"), ("t", "c")]
    assert _kinds(peer[:again]) in ([], [("t", "d"), ("t", None)])
    assert not [*differences(peer[again:], own)]
