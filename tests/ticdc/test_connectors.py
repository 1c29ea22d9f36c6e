"""The source `debezium` on what connectors of other databases write: their source blocks, rows, and other messages.

Members of the source blocks: Debezium's manual, the chapter of each connector, "Change event values".
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit_ticdc.decoding.envelopes import EnvelopeDecoder, EnvelopeOptions
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.events import Ddl
from cdckit_ticdc.message import Message

SOURCES: dict[str, dict[str, Any]] = {
    "postgresql": {
        "schema": "public", "txId": 571, "sequence": "[\"24023119\",\"24023128\"]", "lsn": 24023128, "xmin": None,
    },
    "sqlserver": {
        "schema": "dbo", "change_lsn": "00000027:00000758:0003", "commit_lsn": "00000027:00000758:0005",
        "event_serial_no": 2,
    },
    "oracle": {
        "schema": "DEBEZIUM", "txId": "6.28.807", "scn": "2122185", "commit_scn": "2122185", "rs_id": "001234.0.0",
        "ssn": 1, "redo_thread": 1, "user_name": "bob",
    },
    "db2": {"schema": "MYSCHEMA", "change_lsn": None, "commit_lsn": "00000025:00000d98:00a2"},
    "vitess": {"keyspace": "commerce", "shard": "-80", "vgtid": "[{\"keyspace\":\"commerce\",\"shard\":\"-80\"}]"},
    "spanner": {"project_id": "p", "instance_id": "i", "number_records_in_transaction": 1, "low_watermark": 1678},
}  # fmt: skip
ROW = {"id": 1004, "first_name": "Anne", "active": True, "height": 1.5, "note": None}


def source_block(connector: str) -> dict[str, Any]:
    named = {"version": "3.2.0.Final", "connector": connector, "name": "fulfillment", "ts_ms": 1559033904863}
    return {**named, "snapshot": "false", "db": "shop", **SOURCES[connector], "table": "customers"}


def event(connector: str, op: str, before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after, "source": source_block(connector), "op": op, "ts_ms": 1559033904961}


def json_schema(name: str, value: Any, fixed: str | None = None) -> dict[str, Any]:
    """The schema of a sample, as Kafka Connect writes it."""
    if isinstance(value, dict):
        fields = [{**json_schema(member, one), "field": member} for member, one in value.items()]
        return {"type": "struct", "fields": fields, "optional": True, "name": fixed or name}
    kinds: dict[type, str] = {bool: "boolean", int: "int64", float: "double"}
    return {"type": kinds.get(type(value), "string"), "optional": True}


def documents(connector: str, op: str, before: Any, after: Any) -> list[dict[str, Any]]:
    """An event without schema, and with one."""
    plain = event(connector, op, before, after)
    schema = json_schema("Envelope", {**plain, "before": ROW, "after": ROW}, "fulfillment.Envelope")
    return [plain, {"schema": schema, "payload": plain}]


def decoded(decoder: EnvelopeDecoder, document: Any, key: Any = None, topic: str = "t") -> list[Any]:
    written = None if key is None else orjson.dumps(key)
    return list(decoder.decode(Message(topic, 0, 7, written, orjson.dumps(document))))


def make_decoder(naming: Any = "message") -> EnvelopeDecoder:
    return EnvelopeDecoder(EnvelopeOptions(naming=naming), Definitions(), None)


@pytest.mark.parametrize("connector", SOURCES)
@pytest.mark.parametrize(
    ("op", "before", "after"), [("c", None, ROW), ("u", ROW, ROW), ("d", ROW, None), ("r", None, ROW)]
)
def test_events_of_every_connector(connector: str, op: str, before: Any, after: Any) -> None:
    """Rows, operation and the connector's own source block, the key as a struct: what transforms and sinks need."""
    for document in documents(connector, op, before, after):
        decoder = make_decoder()
        decoded(decoder, documents(connector, "c", None, ROW)[0])
        (record,) = decoded(decoder, document, {"id": 1004})
        value = record.value.to_dict()
        assert value["source"] == source_block(connector)
        assert value["op"] == op
        known = {name: cell for name, cell in ROW.items() if cell is not None}
        for image, row in (("before", before), ("after", after)):
            shown = value[image] and {name: cell for name, cell in value[image].items() if cell is not None}
            assert shown == (row and known)
        assert isinstance(record.key, Struct)
        assert record.key.to_dict() == {"id": 1004}


@pytest.mark.parametrize(
    ("connector", "topic"),
    [
        ("postgresql", "fulfillment.shop.public.customers"),
        ("sqlserver", "fulfillment.shop.dbo.customers"),
        ("vitess", "fulfillment.shop.customers"),
    ],
)
def test_tables_that_share_a_topic_get_topics_of_their_own(connector: str, topic: str) -> None:
    (record,) = decoded(make_decoder("table"), event(connector, "c", None, ROW), topic="all")
    assert record.topic == topic


def test_a_delete_of_which_only_the_key_is_there() -> None:
    """PostgreSQL's default replica identity: the row before has the key, all else is null."""
    decoder = make_decoder()
    decoded(decoder, event("postgresql", "c", None, ROW))
    gone = {name: (1004 if name == "id" else None) for name in ROW}
    (record,) = decoded(decoder, event("postgresql", "d", gone, None), {"id": 1004})
    assert record.value["before"]["id"] == 1004
    assert record.value["after"] is None


def test_a_logical_decoding_message_is_no_row() -> None:
    """PostgreSQL's op `m` is named as Debezium names it, so that tables pass over it."""
    message = {"prefix": "audit", "content": "aGVsbG8="}
    body = {"op": "m", "ts_ms": 1, "source": source_block("postgresql"), "message": message}
    (record,) = decoded(make_decoder(), body)
    assert record.value.schema.name == "io.debezium.connector.postgresql.MessageValue"
    assert record.value["message"].to_dict() == message


def test_a_tombstone() -> None:
    (record,) = make_decoder().decode(Message("t", 0, 7, b'{"id":1}', None))
    assert isinstance(record, Record)
    assert record.value is None
    assert isinstance(record.key, Struct)


DDL_1_1 = {
    "source": {"version": "1.1.0.Final", "connector": "mysql", "name": "s", "ts_ms": 5, "db": "shop", "table": None},
    "databaseName": "shop",
    "ddl": "ALTER TABLE t ADD COLUMN c INT",
}
DDL_1_9 = {**DDL_1_1, "schemaName": None, "tableChanges": []}
DDL_3 = {**DDL_1_9, "ts_ms": 6}
HISTORY = {
    "source": {"server": "s"},
    "position": {"ts_sec": 0, "file": "b.1", "pos": 4},
    "databaseName": "shop",
    "ddl": DDL_1_1["ddl"],
    "tableChanges": [],
}


@pytest.mark.parametrize("body", [DDL_1_1, DDL_1_9, DDL_3, HISTORY], ids=["1.1", "1.9", "3", "history"])
@pytest.mark.parametrize("schema", [False, True])
def test_schema_changes_of_every_version(body: dict[str, Any], schema: bool) -> None:
    """They tell of the statement, and are no rows."""
    name = "io.debezium.connector.mysql.SchemaChangeValue"
    document = {"schema": json_schema("", {k: v for k, v in body.items() if v != []}, name), "payload": body}
    ddl, record = decoded(make_decoder(), document if schema else body)
    assert isinstance(ddl, Ddl)
    assert ddl.statement == DDL_1_1["ddl"]
    assert record.value.schema.name.endswith(".SchemaChangeValue")
