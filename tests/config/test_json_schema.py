"""The JSON Schema says of a pipeline file what loading it would say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cdckit.engine.config.json_schema import pipeline_schema
from cdckit.engine.config.loading import load_pipeline


def faults(pipeline: dict[str, Any]) -> list[str]:
    validator = Draft202012Validator(pipeline_schema())
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(pipeline)]


def source(**options: Any) -> dict[str, Any]:
    return {"source": {"type": "scripted", "script": "x", **options}}


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(pipeline_schema())


@pytest.mark.parametrize(
    "pipeline",
    [
        source(),
        source(port=1, mode="slow"),
        source(port="${PORT:-1}", mode="${MODE}"),
        source(**{"server.name": "old", "statement.a": "x", "driver.x": "y"}),
        {"source": {"type": "test.ScriptedConnector", "script": "x"}},
        source(port="3307", mode="Slow", password=123, topic={"prefix": "a"}, server={"name": None}, tags=["a"]),
        {**source(), "position": {"header": "off"}, "offset": {"flush.interval.ms": "5"}, "state": None},
        {**source(), "state": "./kept", "local.folder": "here"},
        {**source(), "state": {"path": "kept"}, "local": {"folder": "here"}},
        {**source(), "state": {"type": "away", "address": "db:1"}},
        {
            "source": {
                "type": "mysql",
                "database": {"server.name": "s", "ssl": {"mode": "REQUIRED"}, "hostname": "h", "password": 123},
                "database.ssl": {"keystore": "k"},
                "table.include.list": ["a.b", "c.d"],
                "event.format": 1.9,
                "snapshot.mode": "schema_only",
                "schema": {"history": {"internal": {"kafka.topic": "t"}}},
            }
        },
        {**source(), "runner": "direct", "position.header": False, "spark": {"spark.master": "local[2]"}},
        {**source(), "sink": {"type": "file", "path": "x"}, "serializer": {"type": "json", "schemas.enable": True}},
        {
            **source(),
            "serializer": {
                "type": "json",
                "key": {"type": "string"},
                "header.type": "binary",
                "header.delegate.converter.type": "json",
            },
        },
        {**source(), "serializer": {"type": "json", "key": {"schemas": {"enable": False}}}},
        {**source(), "sink": {"type": "failing", "producer.linger.ms": "1"}},
        {
            **source(),
            "transforms": [{"type": "Rename", "topic": "x", "predicate": "P", "negate": True}],
            "predicates": {"P": {"type": "TopicIs", "topic": "t"}},
        },
    ],
)
def test_a_good_pipeline_passes(pipeline: dict[str, Any]) -> None:
    assert faults(pipeline) == []


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        ({}, "'source' is a required property"),
        ({"source": {"type": "scripted"}}, "'script' is a required property"),
        ({"source": {"script": "x"}}, "'type' is a required property"),
        ({"source": {"type": "nothing"}}, "is not one of"),
        ({**source(), "state": {"type": "file", "pth": "x"}}, "is not valid under any of the given schemas"),
        ({**source(), "state": {"pth": "x"}}, "is not valid under any of the given schemas"),
        ({**source(), "state": {"type": "away"}}, "is not valid under any of the given schemas"),
        (source(scrpt="x"), "'scrpt' does not match any of the regexes"),
        (source(port="high"), "is not valid under any of the given schemas"),
        (source(mode="fastest"), "is not valid under any of the given schemas"),
        ({**source(), "runer": "direct"}, "'runer' was unexpected"),
        ({**source(), "sink": {"type": "file"}}, "'path' is a required property"),
        ({**source(), "transforms": [{"type": "Rename"}]}, "'topic' is a required property"),
        ({**source(), "predicates": {"P": {"type": "TopicIs", "topc": "t"}}}, "'topc' does not match"),
    ],
)
def test_a_wrong_pipeline_fails(pipeline: dict[str, Any], said: str) -> None:
    assert any(said in fault for fault in faults(pipeline))


def test_old_names_are_marked_and_descriptions_are_there() -> None:
    (scripted,) = [
        choice["then"]
        for choice in pipeline_schema()["$defs"]["source"]["allOf"]
        if "scripted" in choice["if"]["properties"]["type"]["enum"]
    ]
    assert scripted["properties"]["server.name"]["deprecated"] is True
    assert scripted["properties"]["port"]["description"] == "A number."
    assert scripted["properties"]["port"]["default"] == 3306
    assert "statements" not in scripted["properties"]


def test_good_ones_are_good_for_the_parser_too(tmp_path: Path) -> None:
    """The forms above that differ most from a file's plain ones."""
    file = tmp_path / "p.yaml"
    file.write_text(
        "position: {header: off}\nsource:\n  type: mysql\n  database: {server.name: s, ssl: {mode: REQUIRED}}\n"
        "  database.user: u\n  database.ssl: {keystore: k}\n  table.include.list: [a.b, c.d]\n  event.format: 1.9\n"
        "  snapshot.mode: schema_only\n"
    )
    pipeline = load_pipeline(file)
    assert pipeline.name == "s"
    assert pipeline.source.config.table_include_list == "a.b,c.d"  # type: ignore[attr-defined]
