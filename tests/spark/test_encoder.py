"""Records to packets of typed rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from cdckit.api.marks import MarkKind, TableExample, TableMark
from cdckit.api.record import UNAVAILABLE_HEADER, Header, Record, SchemaAndValue
from cdckit.api.schema import INT32, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Stored, struct_schema
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.connector.envelope import OLD_KEY
from cdckit.engine.chain import TransformChain
from cdckit.engine.spark.table_output import TableOutput
from cdckit.errors import SinkError
from cdckit.logical import POINT
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.groups import Mode
from cdckit.tables.layout import Layout
from cdckit.tables.marks import Mark
from cdckit.tables.sink import Packet
from cdckit.tables.streams import rows_of

KEY = struct_schema("Key", {"id": INT32})
ROW = struct_schema("Value", {"id": INT32, "name": OPTIONAL_STRING}, optional=True)
SOURCE = struct_schema("Source", {"ts_ms": OPTIONAL_INT64, "db": STRING, "table": STRING, "row": INT32})
ENVELOPE = struct_schema(
    "Envelope", {"before": ROW, "after": ROW, "source": SOURCE, "op": STRING, "ts_ms": OPTIONAL_INT64}
)


def key(number: int) -> Struct:
    return Struct(KEY, (number,))


def row(number: int, name: str | None) -> Struct:
    return Struct(ROW, (number, name))


def event(op: str, number: int, name: str | None, topic: str = "t", **how: Any) -> Record:
    before, after = (row(number, name), None) if op == "d" else (None, row(number, name))
    source = Struct(SOURCE, (1, "d", "a", 0))
    value = Struct(ENVELOPE, (before, after, source, op, 2))
    return Record(topic, key(number), value, position=f"{number:03d}", **how)


def rows_event(op: str, names: Sequence[str], topics: Sequence[str] = ()) -> Iterator[Record]:
    """Records that share a template, as those of one rows event do."""
    image = 0 if op == "d" else 1
    source = Struct(SOURCE, (1, "d", "a", 0))
    template = Template(ENVELOPE, (None, None, source, op, 2), ((image,), (2, 3)))
    for number, name in enumerate(names):
        value = TemplateStruct(template, (row(number, name), number))
        yield Record(topics[number] if topics else "t", key(number), value, position=f"{number:03d}")


def encode(records: Sequence[Record], mode: Mode = "changelog") -> list[Packet]:
    return list(TableEncoder(mode, "gone")(records))


def rows_in(packet: Packet) -> list[dict[str, Any]]:
    return [found for batch in rows_of(packet.data) for found in batch.to_pylist()]


def test_records_of_one_rows_event_are_one_packet() -> None:
    (packet,) = encode(list(rows_event("c", "abc")))
    assert [(r["id"], r["name"], r["__op"], r["__table"], r["__position"]) for r in rows_in(packet)] == [
        (0, "a", "c", "a", "000"), (1, "b", "c", "a", "001"), (2, "c", "c", "a", "002"),
    ]  # fmt: skip
    layout = Layout.loads(packet.layout)
    assert (layout.source, layout.key, layout.ops, packet.rows) == ("d.a", ("id",), "c", 3)
    assert layout.columns[:2] == (("id", "int"), ("name", "string"))


@pytest.mark.parametrize("mode", ["changelog", "mirror"])
def test_records_that_a_transform_sent_elsewhere_are_in_that_tables_packet(mode: Mode) -> None:
    packets = encode(list(rows_event("c", "abcd", ["x", "y", "y", "x"])), mode)
    assert {packet.topic: [r["name"] for r in rows_in(packet)] for packet in packets} == {
        "x": ["a", "d"],
        "y": ["b", "c"],
    }


def test_a_deletes_tombstone_says_nothing_new_and_one_alone_is_a_delete() -> None:
    gone = event("d", 1, "a")
    tombstones = [Record("t", key(number), None, position=f"{number:03d}t") for number in (1, 7)]
    rows, keys = encode([gone, tombstones[0], tombstones[1]])
    assert [(r["id"], r["__deleted"]) for r in rows_in(rows)] == [(1, True)]
    assert Layout.loads(keys.layout).kind == "keys"
    assert [(r["id"], r["__op"], r["__position"]) for r in rows_in(keys)] == [(7, "d", "007t")]


@pytest.mark.parametrize("mode", ["changelog", "mirror", "history"])
def test_a_null_that_has_the_rows_schema_is_a_delete(mode: Mode) -> None:
    """So ExtractNewRecordState leaves deletes unless it is told otherwise."""
    (packet,) = encode([Record("t", key(1), SchemaAndValue(ROW, None), position="001")], mode)
    assert Layout.loads(packet.layout).kind == "keys"
    assert [found["id"] for found in rows_in(packet)] == [1]


def test_flattened_rows_keep_their_own_columns_about_the_change() -> None:
    flat = struct_schema("Value", {"id": INT32, "__op": STRING, "__deleted": STRING})
    records = [
        Record("t", key(1), Struct(flat, (1, "u", "false")), position="1"),
        Record("t", key(2), Struct(flat, (2, "d", "true")), position="2"),
    ]
    (packet,) = encode(records)
    assert [(r["id"], r["__op"], r["__deleted"]) for r in rows_in(packet)] == [(1, "u", "false"), (2, "d", "true")]
    (packet,) = encode(records, "mirror")
    assert [(r["id"], r["__cdckit_op"]) for r in rows_in(packet)] == [(1, "c"), (2, "d")]


def test_unavailable_values_are_named() -> None:
    told = (Header(UNAVAILABLE_HEADER, "name"),)
    packets = encode([event("u", 1, None, headers=told), event("u", 2, None), event("u", 3, "gone")], "mirror")
    (packet,) = packets
    assert Layout.loads(packet.layout).unavailable == ("name",)
    assert [r["__cdckit_absent"] for r in rows_in(packet)] == [",name,", None, None]


def test_comments_are_in_layouts_and_in_no_packet() -> None:
    """What the source knows, or what another's connector says with the schema; a geometry's own doc is no comment."""
    members = {
        "id": INT32.replace(stored=Stored(comment="number"), doc="shown otherwise"),
        "name": OPTIONAL_STRING.replace(doc="whose"),
        "place": POINT,
        "x": INT32.replace(stored=Stored(older=7)),
    }
    row = struct_schema("Value", members, optional=True).replace(stored=Stored(comment="people"))
    members = {"before": row, "after": row, "source": SOURCE, "op": STRING, "ts_ms": OPTIONAL_INT64}
    source = Struct(SOURCE, (1, "d", "a", 0))
    value = Struct(struct_schema("Envelope", members), (None, Struct(row, (1, "a", None, 7)), source, "c", 2))
    record = Record("t", key(1), value, position="001")
    groups, _ = TableEncoder("mirror", "gone").gathered([record])
    assert [group.layout().comments for group in groups] == [(("", "people"), ("id", "number"), ("name", "whose"))]
    (packet,) = encode([record], "mirror")
    assert Layout.loads(packet.layout).comments is None


@pytest.mark.parametrize("mode", ["changelog", "mirror"])
def test_an_inserted_row_has_the_defaults_that_the_log_leaves_out(mode: Mode) -> None:
    known = OPTIONAL_STRING.replace(stored=Stored(default="nobody"))
    row = struct_schema("Value", {"id": INT32, "name": known}, optional=True)
    members = {"before": row, "after": row, "source": SOURCE, "op": STRING, "ts_ms": OPTIONAL_INT64}
    source = Struct(SOURCE, (1, "d", "a", 0))
    value = Struct(struct_schema("Envelope", members), (None, Struct(row, (1, None)), source, "c", 2))
    record = Record("t", key(1), value, (Header(UNAVAILABLE_HEADER, "name"),), "001")
    (packet,) = encode([record], mode)
    assert rows_in(packet)[0]["name"] == "nobody"
    assert Layout.loads(packet.layout).unavailable == ()


def test_a_row_that_another_key_had_names_that_key_where_values_are_missing() -> None:
    """Keys have what a transform has added to the new one."""
    old = Header(OLD_KEY, key(7), KEY)
    lacking = event("c", 1, None, headers=(old, Header(UNAVAILABLE_HEADER, "name")))
    wide = struct_schema("Key", {"id": INT32, "shard": STRING})
    (packet,) = encode([lacking.replace(key=Struct(wide, (1, "s1")))], "mirror")
    (found,) = rows_in(packet)
    assert (found["__cdckit_op"], found["__cdckit_old_id"], found["__cdckit_old_shard"]) == ("m", 7, "s1")
    renamed = struct_schema("Key", {"number": INT32})
    (packet,) = encode([lacking.replace(key=Struct(renamed, (1,)))], "mirror")
    (found,) = rows_in(packet)
    assert (found["__cdckit_op"], found["__cdckit_old_number"]) == ("m", 7)
    assert Layout.loads(packet.layout).moved
    (whole,) = encode([event("c", 1, "a", headers=(old,))], "mirror")
    assert [row["__cdckit_op"] for row in rows_in(whole)] == ["c"]


def test_a_key_member_that_is_no_column_becomes_one() -> None:
    wide = struct_schema("Key", {"id": INT32, "shard": STRING})
    record = event("c", 1, "a").replace(key=Struct(wide, (1, "s1")))
    (packet,) = encode([record], "mirror")
    assert Layout.loads(packet.layout).key == ("id", "shard")
    assert [(r["id"], r["name"], r["shard"]) for r in rows_in(packet)] == [(1, "a", "s1")]


def test_rows_before_and_behind_a_mark_are_packets_of_their_own() -> None:
    """Their columns may be the same and have other places in the table, if it was another one in between."""
    rows = [event("c", number, "a") for number in (1, 2, 4)]
    renamed = TableMark(MarkKind.RENAME, "003", TableExample("d.a", (rows[0], rows[1])), previous="d.b")
    output = TableOutput(TableEncoder("changelog", "gone"), TransformChain([]), None, "lake")
    (made,) = output(rows, [renamed])
    assert [(one["position"], one["rows"]) for one in made.to_pylist()] == [("001", 2), ("003", 0), ("004", 1)]
    told = Mark.loads(made.to_pylist()[1]["mark"])
    assert told.layout is not None and told.layout.columns == Layout.loads(made.to_pylist()[0]["layout"]).columns


def test_what_carries_no_rows_makes_no_packet() -> None:
    change = struct_schema("io.debezium.connector.mysql.SchemaChangeValue", {"ddl": STRING})
    key = Struct(struct_schema("io.debezium.connector.mysql.SchemaChangeKey", {"databaseName": STRING}), ("d",))
    document = SchemaAndValue(None, {"ddl": "ALTER …"})
    assert encode([Record("t", None, Struct(change, ("ALTER …",))), Record("t", key, document)]) == []


def test_a_value_without_columns_is_refused() -> None:
    with pytest.raises(SinkError, match="topic t, position 9: the value is no struct"):
        encode([Record("t", None, SchemaAndValue(STRING, "x"), position="9")])
