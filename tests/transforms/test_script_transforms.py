"""ScriptFilter and ContentBasedRouter: Debezium's transforms that evaluate an expression for each record."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from cdckit.api.record import Record
from cdckit.engine.chain import build_chain
from cdckit.errors import ConfigError, TransformError
from transforms.change_events import TOPIC, apply, change, plain, tombstone

FILTER = "io.debezium.transforms.Filter"
ROUTER = "io.debezium.transforms.ContentBasedRouter"
UPDATE = change("u", before=(2, "Graz", None), after=(2, "Linz", None))
INSERT = change("c", after=(1, None, None))


def filtered(record: Record, condition: str, language: str = "jsr223.groovy", **options: str) -> Record | None:
    return apply(record, FILTER, {"language": language, "condition": condition, **options})


def routed(record: Record, expression: str, **options: str) -> str:
    made = apply(record, ROUTER, {"language": "jsr223.groovy", "topic.expression": expression, **options})
    assert made is not None
    return made.topic


@pytest.mark.parametrize("language", ["jsr223.groovy", "groovy", "jsr223.graal.js", "graal.js"])
@pytest.mark.parametrize("with_schema", [True, False])
def test_the_records_stay_that_the_condition_is_true_for(language: str, with_schema: bool) -> None:
    for record, stays in ((UPDATE, True), (INSERT, False)):
        given = record if with_schema else plain(record)
        made = filtered(given, "value.op == 'u' && value.before.id == 2", language)
        assert made is (given if stays else None)


def test_connects_own_filter_has_the_short_name() -> None:
    assert apply(INSERT, "Filter", {}) is None


@pytest.mark.parametrize(
    ("mode", "stays"), [({}, True), ({"null.handling.mode": "keep"}, True), ({"null.handling.mode": "DROP"}, False)]
)
def test_records_without_a_value_are_kept_or_dropped(mode: dict[str, str], stays: bool) -> None:
    record = tombstone()
    assert filtered(record, "value.op == 'u'", **mode) is (record if stays else None)


def test_records_without_a_value_can_be_evaluated() -> None:
    modes = {"null.handling.mode": "evaluate"}
    assert routed(tombstone(), "value == null ? 'nulls' : null", **modes) == "nulls"
    with pytest.raises(TransformError, match=r"condition: column 7: 'op' is asked of null; write '\?\.' before it"):
        filtered(tombstone(), "value.op == 'u'", **modes)


def test_records_of_other_topics_pass() -> None:
    assert filtered(INSERT, "value.op == 'u'", **{"topic.regex": "s\\.other\\..*"}) is INSERT
    assert filtered(INSERT, "value.op == 'u'", **{"topic.regex": "s\\.shop\\..*"}) is None


def test_a_router_names_topics_and_null_leaves_them() -> None:
    expression = "value.op == 'u' ? 'updates.' + value.source.table : null"
    assert routed(UPDATE, expression) == "updates.orders_1"
    assert routed(INSERT, expression) == TOPIC
    made = apply(UPDATE, ROUTER, {"language": "graal.js", "topic.expression": "topic + '.' + key.id"})
    assert made is not None
    expected = UPDATE.replace(topic=f"{TOPIC}.2")
    assert all(getattr(made, part) == getattr(expected, part) for part in Record.__slots__)


@pytest.mark.parametrize("condition", ["value.before?.id", "'yes'", "null", "1", "value.after"])
def test_a_condition_that_gives_no_boolean_fails(condition: str) -> None:
    with pytest.raises(TransformError, match=r"condition: it gives .*, which is neither true nor false"):
        filtered(UPDATE, condition)


def test_an_expression_that_gives_no_topic_fails() -> None:
    with pytest.raises(TransformError, match=r"topic\.expression: it gives a number, which is no topic"):
        routed(UPDATE, "1")


@pytest.mark.parametrize(
    ("type_name", "options", "fault"),
    [
        (FILTER, {"language": "groovy", "condition": "value.op = 1"}, r"condition.*column 10: '=' is not known here"),
        (ROUTER, {"language": "groovy", "topic.expression": "a"}, r"topic\.expression.*column 1: the name 'a'"),
        (FILTER, {"language": "jsr223.jython", "condition": "true"}, r"language.*jsr223\.groovy"),
        (FILTER, {"condition": "true"}, "language"),
        (FILTER, {"language": "groovy"}, "condition"),
        (FILTER, {"language": "groovy", "condition": "true", "topic.regex": "("}, r"topic\.regex"),
    ],
)
def test_wrong_options_are_refused_at_the_start(type_name: str, options: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        build_chain([{"type": type_name, **options}], {})


def test_a_pattern_that_is_asked_for_a_record_is_told_when_it_is_none() -> None:
    with pytest.raises(TransformError, match="column 10: "):
        filtered(UPDATE, "value.op ==~ '('")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["groovy", "graal.js"]), st.text(max_size=40))
def test_any_text_makes_a_transform_or_is_refused_with_its_place(language: str, text: str) -> None:
    try:
        build_chain([{"type": FILTER, "language": language, "condition": text}], {})
    except ConfigError as refused:
        assert "column " in str(refused)
