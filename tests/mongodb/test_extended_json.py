"""Extended JSON: values, and documents of any depth."""

from __future__ import annotations

import datetime
import json
import random
import uuid
from typing import Any

import bson
import pytest
from bson import Binary, Code, DatetimeMS, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp

from cdckit.java.text import java_double
from cdckit_mongodb.extended_json import COMPACT, IDENTIFIER, SPACED, Dialect
from cdckit_mongodb.server.connection import CODEC


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-0.00012345, "-1.2345E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E+7"),
        (12345678.5, "1.23456785E+7"),
        (-1e22, "-1.0E+22"),
        (5e-324, "4.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E+308"),
        (100.0, "100.0"),
        (-0.0, "-0.0"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_javas(value: float, text: str) -> None:
    assert java_double(value) == text


def test_characters_that_are_no_letters_are_escaped() -> None:
    text = "aé漢\u0301\u200d\x7f\u2028😀ʰ"
    assert COMPACT.document({"k\u0301": text}) == (
        '{"k\\u0301": "aé漢\\u0301\\u200d\\u007f\\u2028\\ud83d\\ude00\\u02b0"}'
    )


def test_dates_beyond_pythons_years() -> None:
    assert COMPACT.value(DatetimeMS(-(10**15))) == '{"$date": -1000000000000000}'
    assert IDENTIFIER.value(DatetimeMS(10**15)) == '{"$date": {"$numberLong": "1000000000000000"}}'
    assert IDENTIFIER.value(datetime.datetime(2020, 1, 1, 0, 0, 0, 500000)) == '{"$date": "2020-01-01T00:00:00.5Z"}'


def test_kinds_of_binaries_are_hexadecimal_in_capitals() -> None:
    value = Binary(b"x", 255)
    assert COMPACT.value(value) == '{"$binary": "eA==","$type": "FF"}'
    assert SPACED.value(value) == '{"$binary": {"base64": "eA==", "subType": "FF"}}'


@pytest.mark.parametrize("dialect", [COMPACT, SPACED, IDENTIFIER])
def test_documents_of_any_depth(dialect: Dialect) -> None:
    """A document's text is its members' texts, with a space after a colon and what the dialect has after a comma."""
    generator = random.Random(1)
    for depth in [0, 1, 2, 3, 4, 8] * 20:
        document = bson.decode(bson.encode(_document(generator, depth)), CODEC)
        assert dialect.document(document) == _by_member(dialect, document)


def test_names_and_texts_that_look_like_structure() -> None:
    document = {"{1+1}": "{x}", "%s": "%s", "'": '"', "\\": "\\", 'a"b': None, "": True, "\n  ": ":", ",": ",\n    x"}
    expected = json.dumps(document, separators=(",", ": "))
    assert COMPACT.document(document) == expected
    assert SPACED.document({"a": [document, []], "b": {}}) == json.dumps({"a": [document, []], "b": {}})


def test_doubles_that_java_writes_otherwise() -> None:
    document = {"a": 1e7, "b": [1e-9, 1.5, {"c": float("-inf")}], "d": -0.0}
    decoded = bson.decode(bson.encode(document), CODEC)
    assert COMPACT.document(decoded) == '{"a": 1.0E+7,"b": [1.0E-9,1.5,{"c": -Infinity}],"d": -0.0}'
    assert bson.encode(decoded) == bson.encode(document)


def _by_member(dialect: Dialect, value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{json.dumps(name)}: {_by_member(dialect, one)}" for name, one in value.items())
        return "{" + dialect.comma.join(members) + "}"
    if isinstance(value, list):
        return "[" + dialect.comma.join(_by_member(dialect, one) for one in value) + "]"
    return dialect.value(value)


def _document(generator: random.Random, depth: int) -> dict[str, Any]:
    return {
        f"f{number}{generator.choice('ab{%')}": _value(generator, depth) for number in range(generator.randint(0, 8))
    }


def _value(generator: random.Random, depth: int) -> Any:
    if depth and generator.random() < 0.3:
        if generator.random() < 0.5:
            return _document(generator, depth - 1)
        return [_value(generator, depth - 1) for _ in range(generator.randint(0, 4))]
    return generator.choice(SCALARS)


SCALARS: list[Any] = [
    *(1, -1, 2**31 - 1, Int64(2**60), 1.5, 1e300, float("nan"), True, False, None, "x", "é\u0301😀", ""),
    *(ObjectId("5f1a2b3c4d5e6f7081920a1b"), datetime.datetime(2020, 1, 2, 3, 4, 5), DatetimeMS(-1), Timestamp(5, 6)),
    *(b"\x00\xff", Binary(b"a", 5), Binary.from_uuid(uuid.UUID(int=5)), Regex("a.b", "ix"), Code("x"), MinKey()),
    *(Code("x", {"y": 1}), MaxKey(), Decimal128("1.50")),
]
