"""A cloud's MySQL subscription in Debezium's format: the examples of its manual, rows and DDL of one topic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit_ticdc.decoding.envelopes import EnvelopeDecoder, EnvelopeOptions
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.events import Ddl
from cdckit_ticdc.message import Message

DATA = Path(__file__).parents[1] / "data" / "subscription"
DDL = ("create_database", "drop_database", "create_table", "alter_table", "drop_table", "rename_table")


def example(name: str) -> bytes:
    return (DATA / f"{name}.json").read_bytes()


def decoded(decoder: EnvelopeDecoder, value: bytes | None, key: bytes | None = None) -> list[Any]:
    return list(decoder.decode(Message("subscription", 0, 7, key, value)))


def test_rows() -> None:
    """The key is the primary key; create, update and delete carry the rows that the manual shows."""
    decoder = EnvelopeDecoder(EnvelopeOptions(), Definitions(), None)
    names = {}
    for name, op in (("create", "c"), ("update", "u"), ("delete", "d")):
        (record,) = decoded(decoder, example(name), example("key"))
        assert isinstance(record.key, Struct)
        assert record.key.to_dict() == {"id": 1001}
        assert record.value["op"] == op
        rows = (record.value[image] for image in ("before", "after"))
        names[name] = [None if row is None else row["first_name"] for row in rows]
    assert names == {"create": [None, "Anne"], "update": ["Anne", "Anne Marie"], "delete": ["Anne Marie", None]}


def test_ddl_is_known_by_its_shape() -> None:
    """The history's own form and Debezium 1.9's, among the rows, each with the statement and what it defines."""
    decoder = EnvelopeDecoder(EnvelopeOptions(), Definitions(), None)
    found = {}
    for name in DDL:
        ddl, record = decoded(decoder, example(name))
        assert isinstance(ddl, Ddl)
        assert isinstance(record, Record)
        assert record.value["ddl"] == ddl.statement  # type: ignore[index,call-overload]
        found[name] = (ddl.commit_ts, ddl.tables)
    assert found == {
        "create_database": (1655812326000, ()),
        "drop_database": (1655812326000, ()),
        "create_table": (1655812326000, ("dip_test.customers",)),
        "alter_table": (1655782153000, ("test.user",)),
        "drop_table": (1655812326000, ()),
        "rename_table": (1656300979748, ("testDB.t_test",)),
    }


def test_rows_without_schemas_take_the_types_of_the_ddl() -> None:
    """A column that ALTER TABLE added has its type when the first row brings it."""
    decoder = EnvelopeDecoder(EnvelopeOptions(), Definitions(), None)
    decoded(decoder, example("alter_table"))
    source = {"connector": "mysql", "name": "s", "ts_ms": 1655782154000, "db": "test", "table": "user"}
    row = {"name": "ann", "age": 3, "createtime": 1655782154000}
    (record,) = decoded(decoder, orjson.dumps({"before": None, "after": row, "source": source, "op": "c"}))
    schema = record.value["after"].schema
    assert [(field.name, field.schema.type, field.schema.name) for field in schema.fields] == [
        ("name", "string", None), ("age", "int32", None), ("createtime", "int64", "io.debezium.time.Timestamp"),
    ]  # fmt: skip
