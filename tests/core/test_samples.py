"""A sample gives each record back as it was, and a diff is empty of equal records alone."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.schema import BYTES, FLOAT64, INT32, OPTIONAL_STRING, STRING, Schema, struct_schema
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.connector.connect_json.reader import JsonReader, read_records
from cdckit.engine.samples.differences import Difference, differences
from cdckit.engine.samples.lines import SampleLines
from cdckit.errors import TransformError
from transforms.random_records import event

ROW = struct_schema("row", {"id": INT32, "name": OPTIONAL_STRING})


def read_back(record: Record) -> Record:
    [found] = read_records(SampleLines().lines([record]).splitlines())
    return found


def parts(record: Record) -> tuple[Any, ...]:
    """All that a record is, schemas by what they say."""
    data = [record.key, record.value, *(SchemaAndValue(h.schema, h.value) for h in record.headers)]
    values = [part.value if isinstance(part, SchemaAndValue) else part for part in data]
    schemas = [repr(part and part.schema) for part in data]
    names = [header.key for header in record.headers]
    return record.topic, record.partition, record.timestamp, record.position, names, values, schemas


@pytest.mark.parametrize("seed", range(200))
def test_random_records_come_back(seed: int) -> None:
    given = JsonReader().record(event(Random(seed)))
    assert parts(read_back(given)) == parts(given)


def test_what_random_records_lack_comes_back() -> None:
    filled = TemplateStruct(Template(ROW, (None, "Ada"), ((0,),)), (7,))
    with_default = Schema("string", optional=True, default="none")
    given = Record(
        "t",
        filled,
        Struct(struct_schema("s", {"a": with_default, "n": FLOAT64}), (None, math.inf)),
        (Header("raw", b"\x00\xff", BYTES), Header("none", None, None), Header("row", Struct(ROW, (1, None)), ROW)),
        "0001",
        1,
        2,
    )
    found = read_back(given)
    assert parts(found)[:5] == parts(given)[:5]
    assert (found.key, found.value) == (Struct(ROW, (7, "Ada")), given.value)
    assert [header.value for header in found.headers] == [header.value for header in given.headers]
    nan = read_back(Record("t", None, SchemaAndValue(FLOAT64, math.nan))).value
    assert isinstance(nan, SchemaAndValue)
    assert math.isnan(nan.value)


def test_the_offset_stands_at_the_last_record() -> None:
    first, last = SampleLines().lines([Record("a", None, None), Record("b", None, None)], {"pos": 4}).splitlines()
    assert (b"offset" in first, last.endswith(b'"offset":{"pos":4}}')) == (False, True)
    assert SampleLines().lines([], {"pos": 4}) == b""


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(TransformError, match=r"topic t, position 0001"):
        SampleLines().lines([Record("t", None, SchemaAndValue(None, {"a": b"\x00"}), position="0001")])


def document(value: Any, schema: Schema | None = None, **parts: Any) -> dict[str, Any]:
    return SampleLines().document(Record("t", None, SchemaAndValue(schema, value)).replace(**parts))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (document({"a": 1}), document({"a": 1.0}), []),
        (document({"a": 1}), document({"a": True}), ["- value.a: 1", "+ value.a: true"]),
        (document({"a": [1, 2]}), document({"a": [1]}), ["- value.a[1]: 2"]),
        (document(1, INT32), document(1, FLOAT64), ["- value is int32", "+ value is double"]),
        (document(1, INT32), document(1), ["- value is int32", "+ value is without schema"]),
        (document(None), document({}), ["- value: null", "+ value: {}"]),
        (
            document(1, headers=(Header("h", 1, INT32), Header("h", 2, INT32))),
            document(1, headers=(Header("h", 1, INT32),)),
            ["- headers.h[1]: 2"],
        ),
        (
            document(Struct(ROW, (1, None)), ROW),
            document(None, struct_schema("row", {"id": STRING}, optional=True)),
            ["- value.id: 1", "- value.name: null", "+ value: null", "- value is struct name \"row\"",
             "- value.id is int32", "+ value is struct optional name \"row\"", "+ value.id is string"],
        ),
    ],
)  # fmt: skip
def test_differences(before: dict[str, Any], after: dict[str, Any], said: list[str]) -> None:
    assert sorted(f"{line.sign} {line.text}" for line in differences(before, after)) == sorted(said)
    assert differences(before, before) == differences(after, after) == []


@pytest.mark.parametrize("seed", range(100))
def test_unequal_random_records_differ(seed: int) -> None:
    """A record and another one made of the next seed; and one whose schema alone is another."""
    lines, reader = SampleLines(), JsonReader()
    first, second = (lines.document(reader.record(event(Random(number)))) for number in (seed, seed + 1))
    assert differences(first, first) == []
    assert differences(first, second)
    if first["value"] is not None and first["value"]["schema"]:
        renamed = {**first, "value": {**first["value"], "schema": {**first["value"]["schema"], "version": 77}}}
        assert [line.sign for line in differences(first, renamed)] == ["-", "+"]
        assert isinstance(differences(first, renamed)[0], Difference)
