"""What the log says of data files: bounds that hold, whoever reads them how, and nothing where there are none."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cdckit.tables.delta.statistics import Statistics

GREATEST = "\U0010ffff"
LONG = Decimal("9" * 36 + ".99")


def told(kind: pa.DataType, *groups: Sequence[Any], columns: int = 32) -> dict[str, Any]:
    """What is said of one column, whose rows come in some groups; numbers with fractions as they are written."""
    schema = pa.schema([("v", kind)])
    made = Statistics(schema, columns)
    for values in groups:
        made.take(pa.table([pa.array(values, kind)], schema=schema))
    found: dict[str, Any] = json.loads(made.dumps(), parse_float=Decimal)
    return found


def bounds(kind: pa.DataType, *groups: Sequence[Any]) -> tuple[Any, Any]:
    found = told(kind, *groups)
    return found["minValues"].get("v"), found["maxValues"].get("v")


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (pa.int8(), [3, -128, None], (-128, 3)),
        (pa.int64(), [(1 << 63) - 1, -(1 << 63)], (-(1 << 63), (1 << 63) - 1)),
        (pa.decimal128(38, 2), [Decimal("-0.01"), LONG], (Decimal("-0.01"), LONG)),
        (pa.float64(), [1.5, -0.25], (Decimal("-0.25"), Decimal("1.5"))),
        (pa.float64(), [1.5, float("nan")], (None, None)),
        (pa.float64(), [float("inf"), 2.0], (Decimal("2.0"), None)),
        (pa.date32(), [date(1000, 1, 1), date(9999, 12, 31)], ("1000-01-01", "9999-12-31")),
        (pa.string(), ["b", 'a"\n', None], ('a"\n', "b")),
        (pa.bool_(), [True, False], (None, None)),
        (pa.binary(), [b"a", b"b"], (None, None)),
        (pa.list_(pa.int32()), [[1], None], (None, None)),
        (pa.int32(), [None, None], (None, None)),
    ],
)  # fmt: skip
def test_bounds_of_each_type(kind: pa.DataType, values: list[Any], expected: tuple[Any, Any]) -> None:
    assert bounds(kind, values) == bounds(kind, values[:1], values[1:]) == expected


def test_moments_are_whole_milliseconds_on_either_side() -> None:
    """The protocol cuts them, and some readers widen the upper bound, while others do not."""
    values = [datetime(2024, 1, 2, 3, 4, 5, 678901), datetime(1000, 1, 1)]
    assert bounds(pa.timestamp("us"), values) == ("1000-01-01T00:00:00.000", "2024-01-02T03:04:05.679")
    zoned = [one.replace(tzinfo=UTC) for one in values]
    assert bounds(pa.timestamp("us", "UTC"), zoned) == ("1000-01-01T00:00:00.000Z", "2024-01-02T03:04:05.679Z")
    before = [datetime(1969, 12, 31, 23, 59, 59, 999999)]
    assert bounds(pa.timestamp("us"), before) == ("1969-12-31T23:59:59.999", "1970-01-01T00:00:00.000")


def test_moments_that_no_text_names_have_no_bound() -> None:
    far = pa.array([1 << 60, 0], pa.int64()).cast(pa.timestamp("us"))
    schema = pa.schema([("v", far.type)])
    made = Statistics(schema)
    made.take(pa.table([far], schema=schema))
    found = json.loads(made.dumps())
    assert (found["minValues"], found["maxValues"]) == ({"v": "1970-01-01T00:00:00.000"}, {})


def test_texts_are_cut() -> None:
    assert bounds(pa.string(), ["x" * 33]) == ("x" * 32, "x" * 32 + GREATEST)
    assert bounds(pa.string(), ["x" * 32]) == ("x" * 32, "x" * 32)
    assert bounds(pa.string(), ["é" * 40, "z"]) == ("z", "é" * 32 + GREATEST)
    assert bounds(pa.string(), ["x" * 32 + GREATEST]) == ("x" * 32, None)


def test_what_is_said_besides() -> None:
    found = told(pa.list_(pa.int32()), [[1], None])
    assert found == {"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {}}
    assert told(pa.binary(), [b"", None], [None])["nullCount"] == {"v": 2}
    assert told(pa.int32(), [1, 2], columns=0) == {"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {}}
    assert told(pa.int32(), [1, 2], columns=-1)["maxValues"] == {"v": 2}


@pytest.mark.parametrize("seed", range(20))
def test_every_text_lies_between_the_bounds(seed: int) -> None:
    """As UTF-8 sorts, which is how readers compare."""
    chance = random.Random(seed)
    letters = ["a", "é", "\uffff", "\U00010000", GREATEST, "\x00"]
    texts = [
        "a" * chance.choice([0, 30, 31, 32]) + "".join(chance.choices(letters, k=chance.randrange(4))) for _ in "12345"
    ]
    least, greatest = bounds(pa.string(), texts)
    assert all(least.encode() <= text.encode() for text in texts)
    assert greatest is None or all(text.encode() <= greatest.encode() for text in texts)


@pytest.mark.parametrize("seed", range(20))
def test_every_moment_lies_between_the_bounds(seed: int) -> None:
    chance = random.Random(seed)
    moments = [datetime(2024, 1, 1) + timedelta(microseconds=chance.randrange(-5000, 5000)) for _ in "12345"]
    least, greatest = bounds(pa.timestamp("us"), moments)
    assert datetime.fromisoformat(least) <= min(moments)
    assert max(moments) <= datetime.fromisoformat(greatest)
