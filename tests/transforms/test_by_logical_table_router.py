"""ByLogicalTableRouter where Debezium's recorded answers say nothing."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.schema import INT32, STRING, Schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.chain import build_chain
from cdckit.errors import ConfigError, TransformError
from transforms.change_events import KEY, TOPIC, applied, change, members, plain, tombstone

ROUTE: dict[str, Any] = {
    "type": "ByLogicalTableRouter",
    "topic.regex": r"(.*)orders_\d+",
    "topic.replacement": "$1orders",
    "key.field.name": "shard",
    "key.field.regex": r".*_(\d+)",
    "key.field.replacement": "$1",
}


def routed(record: Record, **changes: Any) -> Record:
    options = {**ROUTE, **{name.replace("_", "."): value for name, value in changes.items()}}
    return applied(record, options.pop("type"), options)


def test_rows_envelope_and_key_have_the_logical_tables_names() -> None:
    given = change("u", before=(1, "Graz", None), after=(1, "Linz", None))
    made = routed(given)
    assert isinstance(made.value, Struct)
    assert isinstance(made.key, Struct)
    envelope = made.value.schema
    assert (made.topic, envelope.name, made.key.schema.name) == (
        "s.shop.orders",
        "s.shop.orders.Envelope",
        "s.shop.orders.Key",
    )
    assert made.value["after"].schema is envelope.field("after").schema is envelope.field("before").schema
    assert envelope.field("after").schema.name == "s.shop.orders.Value"
    assert made.key.to_dict() == {"id": 1, "shard": "1"}
    assert (made.headers, made.position, made.timestamp, made.partition) == (given.headers, "0001", 9, 3)
    assert isinstance(given.value, Struct)
    assert given.value.schema.name == f"{TOPIC}.Envelope"


def test_records_of_one_table_share_their_new_schemas() -> None:
    chain = build_chain([ROUTE], {})
    first, second = chain.apply([change("c", after=(1, None, None)), change("c", after=(2, None, None))])
    assert isinstance(first.key, Struct)
    assert isinstance(second.key, Struct)
    assert first.key.schema is second.key.schema
    assert isinstance(first.value, Struct)
    assert isinstance(second.value, Struct)
    assert first.value.schema is second.value.schema


def test_a_changed_definition_gets_its_own_schemas() -> None:
    wider = struct_schema(f"{TOPIC}.Key", {"id": INT32, "part": INT32})
    chain = build_chain([ROUTE], {})
    given = [tombstone(), tombstone().replace(key=Struct(wider, (1, 2))), tombstone()]
    keys = [record.key for record in chain.apply(given)]
    assert [key.to_dict() for key in keys if isinstance(key, Struct)] == [
        {"id": 1, "shard": "1"},
        {"id": 1, "part": 2, "shard": "1"},
        {"id": 1, "shard": "1"},
    ]


def test_a_tombstone_follows_its_delete() -> None:
    made = routed(tombstone())
    assert (made.topic, made.value) == ("s.shop.orders", None)
    assert made.key == routed(change("d", before=(1, None, None))).key


def test_without_a_schema_the_key_tells_the_table_too() -> None:
    given = plain(change("c", after=(1, None, None)))
    made = routed(given)
    assert made.key == SchemaAndValue(None, {"id": 1, "shard": "1"})
    assert members(made) == members(given)


@pytest.mark.parametrize("key", [None, SchemaAndValue(KEY.as_optional(), None)])
def test_a_record_without_a_key_stays_without_one(key: SchemaAndValue | None) -> None:
    assert routed(change("c", after=(1, None, None), key=key)).key is None


@pytest.mark.parametrize("key", [SchemaAndValue(STRING, "1"), SchemaAndValue(None, [1])])
def test_a_key_that_is_no_struct_stops_the_pipeline(key: SchemaAndValue) -> None:
    with pytest.raises(TransformError) as failed:
        routed(change("c", after=(1, None, None), key=key))
    assert "no struct: nothing can be added to it" in str(failed.value)


def test_rows_that_are_texts_stay_what_they_are() -> None:
    text = Schema("string", optional=True)
    schema = struct_schema("s.shop.orders_1.Envelope", {"before": text, "after": text, "op": STRING})
    made = routed(Record("s.shop.orders_1", None, Struct(schema, (None, "{}", "c"))))
    assert isinstance(made.value, Struct)
    assert made.value.schema.name == "s.shop.orders.Envelope"
    assert made.value.values == (None, "{}", "c")


def test_an_empty_topic_is_no_topic(caplog: pytest.LogCaptureFixture) -> None:
    chain = build_chain([{**ROUTE, "topic.regex": ".*", "topic.replacement": ""}], {})
    given = [tombstone(), tombstone()]
    with caplog.at_level(logging.WARNING):
        assert chain.apply(given) == given
    assert [record.message for record in caplog.records] == [
        f"topic.replacement makes an empty name of topic {TOPIC}: its records stay there"
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic.replacement": "$2"}, "transforms.0.topic.replacement: the regex has no group 2"),
        ({"topic.regex": "("}, "transforms.0.topic.regex: a group is not closed"),
        ({"key.field.replacement": " "}, "transforms.0: key.field.regex needs key.field.replacement"),
        ({"key.field.replacement": "${x}"}, "transforms.0: the regex has no group called 'x'"),
        ({"schema.name.adjustment.mode": "avr"}, "'avro'"),
    ],
)
def test_wrong_options_are_refused_with_their_name(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build_chain([{**ROUTE, **options}], {})
    assert said in str(refused.value)


def test_the_cache_size_means_nothing_here_and_that_is_said() -> None:
    chain = build_chain([{**ROUTE, "logical.table.cache.size": 16}], {})
    assert "logical.table.cache.size" in chain.warnings[0]


@pytest.mark.parametrize("name", ["ToLogicalTopicRouter", "io.debezium.transforms.ToLogicalTopicRouter"])
def test_the_name_of_debezium_3_7_has_another_field_in_keys(name: str) -> None:
    options = {"topic.regex": r"(.*)orders_\d+", "topic.replacement": "$1orders", "logical.destination.cache.size": "9"}
    given = change("u", before=(1, "Graz", None), after=(1, "Linz", None))
    made = applied(given, name, options)
    named = {**options, "key.field.name": "__dbz__sourceIdentifier"}
    former = applied(given, "ByLogicalTableRouter", named)
    assert (made.topic, made.key, made.value) == (former.topic, former.key, former.value)
    assert isinstance(made.key, Struct)
    assert made.key.to_dict() == {"id": 1, "__dbz__sourceIdentifier": TOPIC}
    renamed = applied(given, name, {**options, "key.field.name": "shard"})
    assert isinstance(renamed.key, Struct)
    assert renamed.key.to_dict() == {"id": 1, "shard": TOPIC}
