"""Columns that arro3 builds: the same values as pyarrow makes of them, and no others than it takes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cdckit import logical
from cdckit.api.schema import FLOAT64, STRING, Schema, Stored, array_schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.tables.arrays import nulls
from cdckit.tables.arrow_compute import pyarrow_type
from cdckit.tables.lake.arrow_types import arrow_type
from cdckit.tables.types import column_type

ROWS = 300
FIRST, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)
EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
POINT = struct_schema("Point", {"x": FLOAT64, "name": Schema("string", optional=True)})


def decimal(precision: int, scale: int) -> Schema:
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    return Schema("bytes", optional=True, name=logical.DECIMAL_NAME, version=1, parameters=parameters)


def whole(bits: int) -> Callable[[random.Random], int]:
    most = 1 << bits - 1
    return lambda dice: dice.choice((-most, most - 1, 0, dice.randrange(-most, most)))


def text(dice: random.Random) -> str:
    return "".join(chr(dice.choice((0, 10, 65, 228, 8364, 128512))) for _ in range(dice.randrange(6)))


def unscaled(digits: int) -> Callable[[random.Random], bytes]:
    def made(dice: random.Random) -> bytes:
        number = dice.choice((0, -1, 10**digits - 1, 1 - 10**digits, dice.randrange(10**digits)))
        return number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)

    return made


def few(make: Callable[[random.Random], Any]) -> Callable[[random.Random], list[Any]]:
    return lambda dice: [dice.choice((None, make(dice))) for _ in range(dice.randrange(3))]


def micros(dice: random.Random) -> int:
    return dice.randrange((FIRST - EPOCH) // MICROSECOND, (LAST - EPOCH) // MICROSECOND)


def zoned(dice: random.Random) -> str:
    moment = EPOCH + micros(dice) * MICROSECOND
    if dice.random() < 0.5:
        moment = moment.replace(microsecond=0)
    return moment.isoformat() + dice.choice(("Z", "+00:00", "+05:30", "-11:00"))


def number_of(value: bytes, scale: int) -> Decimal:
    return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale)


def instant_of(value: str) -> datetime:
    return datetime.fromisoformat(value).astimezone(UTC)


def same(value: Any) -> Any:
    return value


Case = tuple[Schema, Callable[[random.Random], Any], Callable[[Any], Any]]
CASES: dict[str, Case] = {
    "int8": (Schema("int8"), whole(8), same),
    "int16": (Schema("int16"), whole(16), same),
    "int32": (Schema("int32"), whole(32), same),
    "int64": (Schema("int64"), whole(64), same),
    "float32": (Schema("float32"), lambda dice: dice.choice((0.5, -0.0, 1e30, float("inf"), dice.random())), same),
    "float64": (FLOAT64, lambda dice: dice.choice((0.1, -1e300, 5e-324, dice.random())), same),
    "boolean": (Schema("boolean"), lambda dice: dice.random() < 0.5, same),
    "string": (STRING, text, same),
    "bytes": (Schema("bytes"), lambda dice: dice.randbytes(dice.randrange(5)), same),
    "date": (logical.DATE, lambda dice: dice.randrange(-719162, 2932896), same),
    "milliseconds": (logical.TIMESTAMP, lambda dice: micros(dice) // 1000, lambda value: value * 1000),
    "microseconds": (logical.MICRO_TIMESTAMP, micros, same),
    "zoned": (logical.ZONED_TIMESTAMP, zoned, instant_of),
    "decimal(10,2)": (decimal(10, 2), unscaled(10), lambda value: number_of(value, 2)),
    "decimal(18,18)": (decimal(18, 18), unscaled(18), lambda value: number_of(value, 18)),
    "decimal(1,0)": (decimal(1, 0), unscaled(1), lambda value: number_of(value, 0)),
    "unsigned": (
        Schema("int64", optional=True, stored=Stored(unsigned=True)), whole(64),
        lambda value: Decimal(value % (1 << 64)),
    ),
    "array": (
        array_schema(decimal(5, 1)), few(unscaled(5)),
        lambda value: [None if one is None else number_of(one, 1) for one in value],
    ),
    "map": (
        Schema("map", keys=STRING, items=Schema("int64", optional=True)),
        lambda dice: {text(dice): dice.choice((None, 7)) for _ in range(dice.randrange(3))},
        lambda value: list(value.items()),
    ),
    "struct": (
        POINT, lambda dice: Struct(POINT, (dice.random(), dice.choice((None, text(dice))))),
        lambda value: dict(zip(("x", "name"), value.values, strict=True)),
    ),
    "array of structs": (
        array_schema(POINT), few(lambda _: Struct(POINT, (0.5, "n"))),
        lambda value: [None if one is None else {"x": 0.5, "name": "n"} for one in value],
    ),
}  # fmt: skip


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0], ids=["all there", "some null", "all null"])
@pytest.mark.parametrize("name", CASES)
def test_the_values_are_those_that_pyarrow_makes(name: str, share: float) -> None:
    schema, make, plain = CASES[name]
    dice = random.Random(f"{name} {share}")
    values = [None if dice.random() < share else make(dice) for _ in range(ROWS)]
    kind = column_type(schema)
    made = pa.array(kind.column(values))
    wanted = pa.array([None if value is None else plain(value) for value in values], pyarrow_type(kind.arrow))
    made.validate(full=True)
    assert made.type == wanted.type
    assert made.equals(wanted)


@pytest.mark.parametrize("name", CASES)
def test_a_type_is_that_of_its_text_and_has_nulls(name: str) -> None:
    kind = column_type(CASES[name][0])
    assert arrow_type(kind.ddl) == kind.arrow
    made = pa.array(nulls(3, kind.arrow))
    assert made.equals(pa.nulls(3, pyarrow_type(kind.arrow)))
    assert len(kind.column([])) == 0


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (Schema("int8"), 300),
        (Schema("int32"), "text"),
        (Schema("boolean"), "true"),
        (STRING, 7),
        (logical.TIMESTAMP, 1 << 62),
        (array_schema(Schema("int8")), [300]),
    ],
)
def test_what_has_no_place_in_a_type_is_said_by_pyarrow(schema: Schema, value: Any) -> None:
    with pytest.raises(pa.ArrowException):
        column_type(schema).column([None, value])


@pytest.mark.parametrize(
    ("schema", "values"),
    [(Schema("bytes"), [memoryview(b"\x00z"), None]), (Schema("int64"), [1.0, None])],
)
def test_what_pyarrow_alone_takes_is_taken(schema: Schema, values: Sequence[Any]) -> None:
    kind = column_type(schema)
    assert pa.array(kind.column(values)).equals(pa.array(values, pyarrow_type(kind.arrow)))


def test_a_decimal_may_have_more_bytes_than_it_needs() -> None:
    values = [number.to_bytes(size, "big", signed=True) for number in (-5, 5, 10**9) for size in (5, 16, 17, 20)]
    wanted = [number_of(value, 2) for value in values]
    assert pa.array(column_type(decimal(10, 2)).column([*values, None])).to_pylist() == [*wanted, None]


@pytest.mark.parametrize(
    ("value", "micros"),
    [
        ("2024-02-29T23:59:59.999999999Z", 1709251199999999),
        ("1969-12-31T23:59:59.9999999Z", -1),
        ("2024-02-29T24:00:00", None),
        ("no time", None),
    ],
)
def test_times_with_a_zone(value: str, micros: int | None) -> None:
    kind = column_type(logical.ZONED_TIMESTAMP)
    if micros is None:
        with pytest.raises(ValueError, match=r"ime|hour|format"):
            kind.column([value])
    else:
        assert pa.array(kind.column([value, None])).cast(pa.int64()).to_pylist() == [micros, None]
