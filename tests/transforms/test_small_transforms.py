"""RegexRouter, ReadToInsertEvent, the predicates, and how all of them are registered."""

from __future__ import annotations

from typing import Any

import pytest

from cdckit.api.plugins import config_model, find, make, registrations
from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.schema import OPTIONAL_STRING
from cdckit.api.transform import Predicate, Transform
from transforms.change_events import TOPIC, applied, change, members, plain, tombstone
from transforms.kafka_options import SMALLEST

ROUTES = {"topic.regex": "a", "topic.replacement": "b"}


def predicate(type_name: str, **options: str) -> Predicate:
    registration = find("predicate", type_name)
    made: Predicate = make(registration, config_model(registration).load(options, "")[0])
    return made


def test_a_topic_that_the_pattern_does_not_match_as_a_whole_stays() -> None:
    record = tombstone()
    assert applied(record, "RegexRouter", {"regex": "orders", "replacement": "x"}) is record


def test_only_the_first_place_that_the_pattern_finds_is_replaced() -> None:
    made = applied(Record("ab", None, None), "RegexRouter", {"regex": "a|ab", "replacement": "x"})
    assert made.topic == "xb"


@pytest.mark.parametrize("with_schema", [True, False])
def test_reads_become_inserts_and_nothing_else_changes(with_schema: bool) -> None:
    for op, becomes in (("r", "c"), ("u", "u")):
        record = change(op, before=(1, "Graz", None), after=(1, "Linz", None))
        given = record if with_schema else plain(record)
        made = applied(given, "ReadToInsertEvent", {})
        assert members(made) == {**members(given), "op": becomes}
        assert members(given)["op"] == op
        assert (made is given) == (op == becomes)


def test_topic_name_matches_asks_for_the_whole_topic() -> None:
    matches = predicate("TopicNameMatches", pattern=r"s\.shop\.orders_\d")
    assert matches.test(tombstone())
    assert not matches.test(Record(f"{TOPIC}1", None, None))


def test_has_header_key_finds_any_header_of_that_name() -> None:
    has = predicate("HasHeaderKey", name="mark")
    assert has.test(Record("t", None, None, headers=(Header("other", 1), Header("mark", None))))
    assert not has.test(tombstone())


def test_record_is_tombstone_means_a_null_value_with_or_without_schema() -> None:
    is_tombstone = predicate("RecordIsTombstone")
    assert is_tombstone.test(tombstone())
    assert is_tombstone.test(Record("t", None, SchemaAndValue(OPTIONAL_STRING, None)))
    assert not is_tombstone.test(change("c", after=(1, None, None)))
    assert not is_tombstone.test(Record("t", None, SchemaAndValue(None, 0)))


@pytest.mark.parametrize(
    ("kind", "base", "options"),
    [
        ("transform", Transform, dict.fromkeys(("ByLogicalTableRouter", "ToLogicalTopicRouter"), ROUTES)),
        ("predicate", Predicate, {"TopicNameMatches": {"pattern": "a"}, "HasHeaderKey": {"name": "a"}}),
    ],
)
def test_every_registered_component_can_be_made(
    kind: str, base: type[object], options: dict[str, dict[str, Any]]
) -> None:
    given = {"RegexRouter": {"regex": "a", "replacement": "b"}, **SMALLEST, **options}
    own = [r for plugin, r in registrations(kind) if plugin == "transforms"]  # type: ignore[arg-type]
    assert own
    for registration in own:
        config, warnings = config_model(registration).load(given.get(registration.name.partition("$")[0], {}), "")
        assert isinstance(make(registration, config), base)
        assert not warnings
        assert registration.aliases


@pytest.mark.parametrize(
    "name",
    [
        "io.debezium.connector.mysql.transforms.ReadToInsertEvent",
        "io.debezium.transforms.ByLogicalTableRouter",
        "io.debezium.transforms.ToLogicalTopicRouter",
        "io.debezium.transforms.ExtractNewRecordState",
        "org.apache.kafka.connect.transforms.RegexRouter",
    ],
)
def test_java_class_names_are_known(name: str) -> None:
    assert find("transform", name).name == name.rpartition(".")[2]
