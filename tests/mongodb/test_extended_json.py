"""Extended JSON, document by document and by the functions made for frequent shapes; and, where it can run, Java's."""

from __future__ import annotations

import datetime
import random
import uuid
from typing import Any

import pytest
from bson import Binary, Code, DatetimeMS, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp

from cdckit_mongodb.extended_json import COMPACT, IDENTIFIER, SPACED, Dialect, java_double


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
    text = "aé漢\u0301\u200d\x7f\u2028😀\ud800ʰ"
    assert COMPACT.document({"k\u0301": text}) == (
        '{"k\\u0301": "aé漢\\u0301\\u200d\\u007f\\u2028\\ud83d\\ude00\\ud800\\u02b0"}'
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
def test_frequent_shapes_are_written_alike(dialect: Dialect) -> None:
    """The first documents of a shape are written member by member, later ones by a function made for it."""
    generator = random.Random(1)
    for _ in range(30):
        document = _document(generator, 3)
        texts = {dialect.document(document) for _ in range(120)}
        assert len(texts) == 1


def test_names_are_never_taken_for_code() -> None:
    document = {"{1+1}": "{x}", "%s": "%s", "'": '"', "\\": "\\", 'a"b': None, "": True}
    first, *others = [COMPACT.document(document) for _ in range(120)]
    assert first == '{"{1+1}": "{x}","%s": "%s","\'": "\\"","\\\\": "\\\\","a\\"b": null,"": true}'
    assert set(others) == {first}


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
