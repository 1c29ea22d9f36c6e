"""The ledger of pipelines that write Avro to Kafka, and `cdc diff` of their topics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdckit.cli.main import call
from proof.shop import change, change_unseen, deliver, fill, piped, proved
from proof.test_ledger import said
from proof.test_ledger_documents import kept
from testkit.running import Pipeline
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql_family import SQLServer
from testkit.servers.schema_registry import SchemaRegistry

pytestmark = pytest.mark.timeout(900)

_KINDS = (
    "id bigint unsigned, code varchar(10), f float, d decimal(30,6), t time(3), y year, b bit(9), g json, "
    "z timestamp(6) null, e set('a','b','c'), bin varbinary(20), p point, n int default 7, primary key (id, code)"
)


@pytest.mark.nightly
@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_rows_in_avro_are_told_from_those_that_were_lost(
    db_server: SQLServer,
    database: str,
    kafka_broker: KafkaBroker,
    schema_registry: SchemaRegistry,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    fill(db_server, database, 100)
    db_server.execute(f"create table {database}.kinds ({_KINDS})")
    db_server.execute(
        f"insert into {database}.kinds values (9223372036854775807, 'a', 0.1, 123456789012345678901234.5, "
        "'-12:00:01.5', 2024, b'101', '{\"b\": 1,  \"a\": [2.50]}', '2024-06-01 12:00:00.250000', 'a,c', x'00ff1d', "
        "point(1, 2), 3), (2, 'b', null, null, null, null, null, null, null, null, null, null, null)"
    )
    pipeline = _piped(db_server, database, kafka_broker, schema_registry, tmp_path)
    deliver(pipeline)
    assert said(pipeline, capfd, "kinds") == ("equal", 2, "")
    change(db_server, database)
    db_server.execute(f"update {database}.orders set id = id + 5000 where id between 60 and 65")
    db_server.execute(f"update {database}.kinds set f = 0.3, d = -0.000001, g = '[1,   2]', n = null where id > 1")
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 98, "")
    assert said(pipeline, capfd, "kinds") == ("equal", 2, "")
    assert {name: one.outcome for name, one in proved(pipeline).items()} == {"orders": "equal", "kinds": "equal"}
    change_unseen(db_server, database)
    orders = proved(pipeline)["orders"]
    assert orders.note == "lost, by the ledger: 3 by capture"
    assert {json.loads(one.key)["id"]: one.fault for one in orders.differences} == {
        11: "changed", 12: "changed", 13: "extra",
    }  # fmt: skip


def _piped(server: SQLServer, database: str, broker: KafkaBroker, registry: SchemaRegistry, folder: Path) -> Pipeline:
    sink = {"type": "kafka", "bootstrap.servers": broker.bootstrap, "topic.creation.default.partitions": 3}
    serializer = {"type": "avro", "schema.registry.url": registry.url}
    others = {"runner": "direct", "ledger": True, "offset.flush.interval.ms": 100, "serializer": serializer}
    return piped(server, database, folder, sink, others, topic_prefix=database, skipped_operations="none")


@pytest.mark.parametrize(
    ("sink", "serializer", "why"),
    [
        ({"type": "file", "path": "out"}, {}, "only from kafka"),
        ({"type": "kafka", "bootstrap.servers": "h"}, {"scrub.invalid.names": True}, "scrub.invalid.names: false"),
        (
            {"type": "kafka", "bootstrap.servers": "h"},
            {"auto.register.schemas": False, "use.latest.version": True},
            "use.latest.version",
        ),
    ],
)
def test_avro_is_refused_where_rows_cannot_be_read_back(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], sink: dict[str, Any], serializer: dict[str, Any], why: str
) -> None:
    source = {
        "type": "mysql", "topic.prefix": "p", "database.hostname": "h", "database.user": "u", "database.password": "w",
    }  # fmt: skip
    written = {"type": "avro", "schema.registry.url": "http://h:1", **serializer}
    content = {"runner": "direct", "source": source, "sink": sink, "serializer": written, "ledger": True}
    (tmp_path / "p.json").write_text(json.dumps(content))
    assert call(["validate", str(tmp_path / "p.json")]) == 2
    refused = capfd.readouterr().err
    assert ("ledger: " in refused, why in refused) == (True, True), refused


def test_documents_in_avro(
    mongo: MongoReplicaSet,
    kafka_broker: KafkaBroker,
    schema_registry: SchemaRegistry,
    unique_name: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    sink = {"type": "kafka", "bootstrap.servers": kafka_broker.bootstrap}
    pipeline = kept(mongo, unique_name, tmp_path, sink, **{"topic.prefix": unique_name})
    pipeline.others["serializer"] = {"type": "avro", "schema.registry.url": schema_registry.url}  # type: ignore[index]
    with mongo.client() as client:
        things = client[unique_name].create_collection("things", changeStreamPreAndPostImages={"enabled": True})
        things.insert_many([{"_id": number, "n": number / 3} for number in range(50)])
        deliver(pipeline)
        things.update_many({"_id": {"$lt": 20}}, {"$set": {"n": "text"}})
        things.delete_many({"_id": {"$gte": 45}})
        deliver(pipeline)
        assert said(pipeline, capfd, "things") == ("equal", 45, "")
        assert proved(pipeline)["things"].outcome == "equal"
        client.drop_database(unique_name)
