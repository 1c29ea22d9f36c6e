"""`cdc offsets export`: a live Debezium goes on from the file that it makes, exactly where the pipeline stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from differential.both import differences
from differential.debezium import END_MARK, libraries
from differential.handover import (
    BEFORE,
    BEHIND,
    ROWS,
    TABLES,
    Handover,
    assert_equal_behind,
    assert_transaction_told_again,
    change_and_stand_within,
    events,
    kinds,
    run_debezium,
)
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer

pytestmark = pytest.mark.nightly


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
        mysql_server.run_sql(TABLES + ROWS, database=database)
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
        run_debezium(folder, jars)
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
    within = change_and_stand_within(server, folder, databases[1])
    for handover in (handovers[0], handovers[2]):
        handover.run()
    handovers[1].run()
    handovers[1].set(within)


def test_mysql_goes_on_behind_the_last_transaction(captured: Path) -> None:
    assert_equal_behind(captured)


def test_mysql_tells_a_transaction_again_that_the_pipeline_stood_in(captured: Path) -> None:
    again, own = assert_transaction_told_again(captured)
    [of] = {event["value"]["source"]["gtid"] for event in again if event["value"]}
    assert {event["value"]["source"]["gtid"] for event in own[:1]} == {of}, "the transaction is not over"


def test_mongodb_goes_on_behind_the_last_change(captured: Path) -> None:
    """A delete whose tombstone may be missing is told again; nothing else is."""
    peer, own = (events(captured / f"2.{whose}.jsonl") for whose in ("peer", "own"))
    again = len(peer) - len(own)
    assert kinds(peer[again:]) == kinds(own) == [("t", "u"), ("t", "d"), ("t", None), ("t", "c"), ("t", "c")]
    assert kinds(peer[:again]) in ([], [("t", "d"), ("t", None)])
    assert not [*differences(peer[again:], own)]
