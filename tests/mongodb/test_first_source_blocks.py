"""`source.struct.version=v1`: the source block of Debezium before 0.10, equal to a recording of Debezium 1.9."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from cdckit.api.struct import Struct
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.errors import ConfigError
from cdckit.tables.shapes import EnvelopeShape
from cdckit_mongodb.config import MongoDbConfig
from mongodb.capture import Capture
from mysql.first_blocks import masked, of_run, recorded
from testkit.servers.mongodb import MongoReplicaSet

CONFIGURATION = """
connector.class=io.debezium.connector.mongodb.MongoDbConnector
mongodb.name=g
database.include.list=inv
source.struct.version=v1
event.format=1.9
"""
OF_THE_SERVER = frozenset({"version", "sec", "ord"})


def test_blocks_equal_those_of_debezium_1_9(mongo: MongoReplicaSet, tmp_path: Path, afterwards: ExitStack) -> None:
    (tmp_path / "c.properties").write_text(CONFIGURATION)
    output = tmp_path / "events.jsonl"
    hosts = f"{mongo.name}/{mongo.nodes[0].address}"
    settings = [f"sink.path={output}", f"state={tmp_path}/state", f"source.mongodb.hosts={hosts}"]

    def run() -> None:
        pipeline = load_pipeline(tmp_path / "c.properties", settings, runner="direct", sink="file")
        DirectRunner(pipeline).run(once=True)

    afterwards.callback(mongo.drop_database, "inv")
    with mongo.client() as client:
        client.drop_database("inv")
        client.inv.a.insert_many([{"_id": 1}, {"_id": 2}])
        client.inv.b.insert_one({"_id": 1})
        run()
        client.inv.a.insert_one({"_id": 5})
        client.inv.a.update_one({"_id": 5}, {"$set": {"x": 1}})
        client.inv.b.delete_one({"_id": 1})
        client.inv.a.insert_one({"_id": "the end"})
        with client.start_session() as session, session.start_transaction():
            client.inv.a.insert_one({"_id": 8}, session=session)
        run()
    (schema, found), (expected_schema, expected) = of_run(output), recorded("mongodb-1.9.7")
    assert schema == expected_schema
    assert masked(found, OF_THE_SERVER) == masked(expected, OF_THE_SERVER)


def test_the_place_is_the_change_s_cluster_time(mongo: MongoReplicaSet, unique_name: str) -> None:
    """And a changelog's columns are filled from it."""
    with mongo.client() as client:
        client[unique_name].a.insert_one({"_id": 0})
        capture = Capture(mongo.uri, database_include_list=unique_name, event_format="1.9", source_struct_version="v1")
        capture.once()
        client[unique_name].a.insert_one({"_id": 1})
        newest = next(client.local["oplog.rs"].find({"op": "i", "o._id": 1}).sort("$natural", -1))["ts"]
        (record,) = capture.once()
        client.drop_database(unique_name)
    assert isinstance(record.value, Struct)
    source = record.value["source"]
    assert (source["sec"], source["ord"]) == (newest.time, newest.inc)
    facts = EnvelopeShape(record.value.schema).facts(record.value.values)
    assert (facts.db, facts.table, facts.source_ts_ms) == (unique_name, "a", newest.time * 1000)


def test_newer_events_do_not_have_it() -> None:
    given = {"topic.prefix": "p", "mongodb.connection.string": "mongodb://h", "source.struct.version": "v1"}
    with pytest.raises(ConfigError, match=r"set event\.format to 1\.9"):
        MongoDbConfig.load(given, "source")
