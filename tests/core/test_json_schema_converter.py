"""JSON Schema: byte for byte what Confluent's JsonSchemaConverter wrote, by the schemas that it registered.

Its jars are not on Maven Central, so `tests/data/confluent/json-schema` holds what it made of the recorded events, with
the options that stand beside each file here, and of random values: version 7.0.16, its mapping of data that of 7.9.9.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit import logical
from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.schema import BYTES, FLOAT64, INT32, STRING, struct_schema
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.serializers.json_schema.serializer import JsonSchemaSerializer
from cdckit.errors import TransformError

DATA = Path(__file__).parents[1] / "data"
WRITTEN = DATA / "confluent" / "json-schema"
SCENARIOS: list[tuple[str, str, dict[str, str]]] = [
    ("types", "mysql97-mysql-3.6.3/types", {}),
    ("types-alt1", "mysql97-mysql-3.6.3/types-alt1", {"decimal.format": "numeric"}),
    ("types-alt3", "mysql97-mysql-3.6.3/types-alt3", {"object.additional.properties": "false"}),
    ("dml-schema", "mysql97-mysql-3.6.3/dml-schema", {}),
    ("ddl-schema", "mysql97-mysql-3.6.3/ddl-schema", {}),
    ("unwrap", "mysql97-mysql-3.6.3/smt-unwrap", {"ignore.default.for.nullables": "true"}),
    ("documents", "mongo60-3.6.3/default-schema", {}),
]
NAMED = struct_schema("a.b.C", {"id": INT32, "text": STRING.replace(default='x\n"é')})


class Registered:
    """A serializer whose registry gives ids and keeps the schemas."""

    def __init__(self, **options: Any) -> None:
        registration = find("serializer", "json-schema")
        config, _ = config_model(registration).load({"schema.registry.url": "http://none", **options}, "serializer")
        self.made: JsonSchemaSerializer = make(registration, config)
        self.made._register = self._register
        self.schemas: list[str] = []

    def _register(self, _subject: str, written: str) -> tuple[int, str]:
        if written not in self.schemas:
            self.schemas.append(written)
        return self.schemas.index(written), written

    def write(self, part: str, record: Record) -> tuple[str, str] | None:
        """The schema and the text of a key or value."""
        [written] = self.made.keys([record]) if part == "key" else self.made.values([record])
        if written is None:
            return None
        assert written[0] == 0
        return self.schemas[int.from_bytes(written[1:5], "big")], written[5:].decode()


def answers(name: str) -> Iterator[tuple[str, str]]:
    """The schemas and texts that Confluent's class gave, in their order; a schema's text stands there once."""
    known: list[str] = []
    for line in (WRITTEN / f"{name}.jsonl").read_text().split("\n")[:-1]:
        one = json.loads(line)
        if isinstance(one["schema"], str):
            known.append(one["schema"])
        yield known[one["schema"]] if isinstance(one["schema"], int) else one["schema"], one["message"]


def recorded(scenario: str) -> Iterator[tuple[str, Record]]:
    for name in ("snapshot", "stream"):
        for record in read_records((DATA / "debezium" / scenario / f"{name}.jsonl").open("rb")):
            for part in ("key", "value"):
                datum = getattr(record, part)
                if datum is not None and datum.schema is not None:
                    yield part, record


@pytest.mark.parametrize(("name", "scenario", "options"), SCENARIOS)
def test_recorded_events_are_what_they_are_there(name: str, scenario: str, options: dict[str, str]) -> None:
    registered = Registered(**options)
    compared = 0
    for (part, record), expected in zip(recorded(scenario), answers(name), strict=True):
        assert registered.write(part, record) == expected, record
        compared += 1
    assert compared > 50


def test_values_of_every_type_are_what_they_are_there() -> None:
    """Random records, and by hand: unions, enumerations, defaults of every type, numbers and texts at their ends."""
    compared = 0
    for line in (WRITTEN / "values.jsonl").read_text().split("\n")[:-1]:
        one = json.loads(line)
        [record] = read_records(io.BytesIO(json.dumps({"topic": "t", "key": None, "value": one["given"]}).encode()))
        written = Registered(**one["options"]).write("value", record)
        assert written == (one["schema"], one["message"]), line
        compared += 1
    assert compared > 150


def test_what_is_filled_into_a_template_is_what_a_struct_would_be() -> None:
    """Of envelopes, the shared part is written once for a group."""
    registered = Registered()
    compared = 0
    for part, record in recorded("mysql97-mysql-3.6.3/dml-schema"):
        value = record.value
        if part == "key" or not isinstance(value, Struct) or "after" not in value:
            continue
        holes = ((0,), (1,), (value.schema.index["source"], value["source"].schema.index["row"]))
        filled = TemplateStruct(
            Template(value.schema, value.values, holes), (value["before"], value["after"], value["source"]["row"])
        )
        expected = registered.write("value", record)
        assert registered.write("value", record.replace(value=filled)) == expected
        compared += 1
    assert compared > 5


def test_nulls() -> None:
    """A schema that allows a null makes it a message of its own, as there; without, it is a tombstone."""
    registered = Registered()
    optional = '{"oneOf":[{"type":"null"},{"type":"string"}]}'
    null = SchemaAndValue(STRING.as_optional(), None)
    assert registered.write("value", Record("t", None, null)) == (optional, "null")
    assert registered.write("value", Record("t", None, SchemaAndValue(STRING, None))) is None
    assert registered.write("value", Record("t", None, None)) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Struct(struct_schema("r", {"in": NAMED}), (Struct(NAMED, (1, b"x")),)), r"in\.text: "),
        (Struct(struct_schema("r", {"f": FLOAT64}), ("x",)), "f: "),
        (Struct(struct_schema("r", {"b": BYTES}), (7,)), "b: "),
        (Struct(struct_schema("r", {"d": logical.decimal(2)}), (7,)), "d: "),
        (SchemaAndValue(None, {"a": 1}), "it has no schema"),
    ],
)
def test_what_cannot_be_written_is_told(value: Any, said: str) -> None:
    good = Record("t", None, Struct(NAMED, (1, "x")))
    with pytest.raises(
        TransformError, match=rf"topic t, position 00042: the value cannot be written as JSON Schema \({said}"
    ):
        Registered().made.values([good, Record("t", None, value, position="00042")])
