"""EventRouter where Debezium's recorded answers say nothing: faults, what it cannot write, values without schemas."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.schema import INT64, OPTIONAL_STRING, STRING, struct_schema
from cdckit.api.struct import Struct, plain
from cdckit.engine.chain import build_chain
from cdckit.errors import ConfigError, TransformError
from transforms.change_events import BLOCK, HEADERS, SOURCE, plain as without_schemas, tombstone

ROUTER = "EventRouter"
TOPIC = "s.shop.outbox"
ROW = struct_schema(
    f"{TOPIC}.Value",
    {"id": STRING, "aggregatetype": OPTIONAL_STRING, "aggregateid": STRING, "type": STRING, "payload": OPTIONAL_STRING},
    optional=True,
)
ENVELOPE = struct_schema(
    f"{TOPIC}.Envelope",
    {"before": ROW, "after": ROW, "source": SOURCE, "transaction": BLOCK, "op": STRING, "ts_ms": INT64},
)
KEY = struct_schema(f"{TOPIC}.Key", {"id": STRING})
EXPAND = {"table.expand.json.payload": True}


def outbox(payload: str | None = "{}", op: str = "c", kind: str | None = "Order") -> Record:
    """A change of the outbox table."""
    row = Struct(ROW, ("e-1", kind, "7", "Created", payload))
    rows = {"c": (None, row), "r": (None, row), "u": (row, row), "d": (row, None), "t": (None, None)}[op]
    envelope = Struct(ENVELOPE, (*rows, Struct(SOURCE, ("outbox", 7)), None, op, 9))
    return Record(TOPIC, Struct(KEY, ("e-1",)), envelope, HEADERS, "0001", 9)


def routed(record: Record, **options: Any) -> Record:
    named = {name.replace("_", "."): value for name, value in options.items()}
    [made] = build_chain([{"type": ROUTER, **named}], {}).apply([record])
    return made


def payload_of(text: str) -> Any:
    """What a payload becomes, as plain dicts and lists."""
    value = routed(outbox(text), table_expand_json_payload=True).value
    assert value is not None
    return plain(value if isinstance(value, Struct) else value.value)


@pytest.mark.parametrize(
    "text",
    ['[{"a":1},{"b":2}]', "[1,2,3]", '{"a":[{"p":{"q":1}},{"p":{"r":2}}]}'],
)
def test_json_that_debezium_loses_is_expanded_too(text: str) -> None:
    expected = json.loads(text)
    found = payload_of(text)

    def same(one: Any, other: Any) -> bool:
        """Equal, but for members that only other elements of an array have."""
        if isinstance(one, dict):
            return all(same(value, other.get(name)) for name, value in one.items() if value is not None)
        if isinstance(one, list):
            return len(one) == len(other) and all(map(same, one, other))
        return bool(one == other)

    assert same(found, expected)
    assert same(expected, found)


def test_a_number_of_more_than_64_bits_is_a_float() -> None:
    assert payload_of('{"big":123456789012345678901234567890}') == {"big": 1.2345678901234568e29}


def test_an_array_with_nulls_among_its_objects() -> None:
    assert payload_of('{"a":[null,{"x":1},{"y":2}]}') == {"a": [None, {"x": 1, "y": None}, {"x": None, "y": 2}]}


@pytest.mark.parametrize("text", ["[]", '{"a":[1,"b"]}', "{", '{"a":[null]}', "true"])
def test_what_cannot_be_expanded_is_left_as_it_is_and_told_once(text: str, caplog: pytest.LogCaptureFixture) -> None:
    chain = build_chain([{"type": ROUTER, **EXPAND}], {})
    with caplog.at_level(logging.INFO):
        values = [made.value for made in chain.apply([outbox(text), outbox(text)])]
    assert values == [SchemaAndValue(OPTIONAL_STRING, text)] * 2
    [warning] = caplog.messages
    assert warning.startswith("topic s.shop.outbox, position 0001: a payload that cannot be expanded")


def test_documents_of_one_shape_share_a_schema() -> None:
    chain = build_chain([{"type": ROUTER, **EXPAND}], {})
    first, second, other = chain.apply([outbox('{"a":[{"b":1}]}'), outbox('{"a":[{"b":2}]}'), outbox('{"a":1}')])
    assert isinstance(first.value, Struct)
    assert isinstance(second.value, Struct)
    assert isinstance(other.value, Struct)
    assert first.value.schema is second.value.schema
    assert first.value.schema is not other.value.schema


@pytest.mark.parametrize("op", ["u", "t"])
@pytest.mark.parametrize(("behavior", "level"), [("warn", "WARNING"), ("error", "ERROR")])
def test_a_change_that_an_outbox_should_not_see_is_told(
    op: str, behavior: str, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    chain = build_chain([{"type": ROUTER, "table.op.invalid.behavior": behavior}], {})
    assert list(chain.apply([outbox(op=op), outbox(op=op)])) == []
    [told] = [record for record in caplog.records if record.levelname != "DEBUG"]
    assert told.levelname == level
    assert f"a change '{op}'" in told.message


@pytest.mark.parametrize("op", ["u", "t"])
def test_such_a_change_can_stop_the_pipeline(op: str) -> None:
    with pytest.raises(TransformError, match=f"this is '{op}'"):
        routed(outbox(op=op), table_op_invalid_behavior="fatal")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"table.field.event.payload": "body"}, "no column 'body' (table.field.event.payload)"),
        ({"table.fields.additional.placement": "who:header"}, "no column 'who' (table.fields.additional.placement)"),
        ({"table.field.event.timestamp": "type"}, "column 'type' (table.field.event.timestamp) is no timestamp"),
    ],
)
def test_a_column_that_is_not_there_or_not_of_its_type(options: dict[str, str], fault: str) -> None:
    with pytest.raises(TransformError) as failed:
        build_chain([{"type": ROUTER, **options}], {}).apply([outbox()])
    assert fault in str(failed.value)


def test_an_event_that_goes_nowhere_stops_the_pipeline() -> None:
    with pytest.raises(TransformError, match=r"'aggregatetype' \(route\.by\.field\) holds None"):
        routed(outbox(kind=None))


@pytest.mark.parametrize(
    ("placement", "fault"),
    [
        ("type", "'type' should be COLUMN:WHERE or COLUMN:WHERE:ALIAS"),
        ("type:header:a:b", "should be COLUMN:WHERE or COLUMN:WHERE:ALIAS"),
        ("type:body", "should be placed in header, envelope, partition, not 'body'"),
    ],
)
def test_a_placement_that_cannot_be_read_is_refused(placement: str, fault: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build_chain([{"type": ROUTER, "table.fields.additional.placement": placement}], {})
    assert fault in str(refused.value)


def test_a_replacement_that_names_a_group_which_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="no group called 'nothing'"):
        build_chain([{"type": ROUTER, "route.topic.replacement": "${nothing}"}], {})


def test_placements_as_a_list() -> None:
    made = routed(outbox("text"), table_fields_additional_placement=["type:header:kind", "aggregateid:envelope"])
    assert [header.key for header in made.headers[len(HEADERS) :]] == ["id", "kind"]
    assert isinstance(made.value, Struct)
    assert made.value.to_dict() == {"payload": "text", "aggregateid": "7"}
    assert made.value.schema.name == "s.shop.outbox.Order.Value"


def test_values_without_schemas_are_routed_too() -> None:
    made = routed(without_schemas(outbox('{"a":[{}]}')), table_expand_json_payload=True)
    assert (made.topic, made.key) == ("outbox.event.Order", SchemaAndValue(None, "7"))
    assert made.value == SchemaAndValue(None, {"a": [{}]})
    assert made.headers[-1] == ("id", "e-1", None)


def test_no_change_event_without_schema_is_left_as_it_is() -> None:
    given = Record("any", None, SchemaAndValue(None, {"id": 1}))
    assert routed(given) is given


def test_deletes_and_tombstones_are_left_out() -> None:
    chain = build_chain([{"type": ROUTER}], {})
    deleted = outbox(op="d")
    assert list(chain.apply([deleted, without_schemas(deleted), tombstone()])) == []
