"""Connect's types as columns."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cdckit import logical
from cdckit.api.schema import FLOAT64, STRING, Schema, Stored, array_schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.tables.arrow_compute import pyarrow_type, value_of
from cdckit.tables.types import column_type, text_of

LAST = datetime(1969, 12, 31, 23, 59, 59, 999999)
"""The last instant before 1970."""


UNSIGNED = Schema("int64", optional=True, stored=Stored(unsigned=True))
PROPAGATED = Schema("int64", parameters={"__debezium.source.column.type": "BIGINT UNSIGNED ZEROFILL"})


def decimal_schema(precision: int | None, scale: int) -> Schema:
    parameters = {"scale": str(scale)}
    if precision is not None:
        parameters["connect.decimal.precision"] = str(precision)
    return Schema("bytes", optional=True, name=logical.DECIMAL_NAME, version=1, parameters=parameters)


def unscaled(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)


@pytest.mark.parametrize(
    ("schema", "ddl", "values", "expected"),
    [
        (Schema("int8"), "tinyint", [-128, 127], [-128, 127]),
        (Schema("int16"), "smallint", [-1], [-1]),
        (Schema("int32"), "int", [2**31 - 1], [2**31 - 1]),
        (Schema("int64"), "bigint", [-(2**63)], [-(2**63)]),
        (Schema("float32"), "float", [0.5], [0.5]),
        (FLOAT64, "double", [1e300], [1e300]),
        (Schema("boolean"), "boolean", [True], [True]),
        (STRING, "string", ["ü"], ["ü"]),
        (Schema("bytes"), "binary", [b"\x00\xff"], [b"\x00\xff"]),
        (Schema("string", name="io.debezium.data.Json"), "string", ["{}"], ["{}"]),
        (Schema("int32", name="io.debezium.time.Date"), "date", [0, -1], [date(1970, 1, 1), date(1969, 12, 31)]),
        (Schema("int32", name=logical.CONNECT_DATE.name), "date", [19000], [date(2022, 1, 8)]),
        (Schema("int64", name="io.debezium.time.Timestamp"), "timestamp_ntz", [-1], [LAST.replace(microsecond=999000)]),
        (logical.CONNECT_TIMESTAMP, "timestamp_ntz", [1000], [datetime(1970, 1, 1, 0, 0, 1)]),
        (Schema("int64", name="io.debezium.time.MicroTimestamp"), "timestamp_ntz", [-1], [LAST]),
        (Schema("int64", name="io.debezium.time.MicroTime"), "bigint", [-3_020_399_000_000], [-3_020_399_000_000]),
        (Schema("int64", name="io.debezium.time.NanoTimestamp"), "bigint", [1], [1]),
        (
            Schema("string", name="io.debezium.time.ZonedTimestamp"), "timestamp",
            ["2024-02-29T23:59:59.999999Z", "2024-03-01T01:00:00+01:00", "1970-01-01T00:00:00.123456789Z"],
            [
                datetime(2024, 2, 29, 23, 59, 59, 999999, UTC), datetime(2024, 3, 1, tzinfo=UTC),
                datetime(1970, 1, 1, 0, 0, 0, 123456, UTC),
            ],
        ),
        (decimal_schema(10, 2), "decimal(10,2)", [unscaled(-1), unscaled(999)], [Decimal("-0.01"), Decimal("9.99")]),
        (decimal_schema(38, 30), "decimal(38,30)", [unscaled(-(10**38) + 1)], [Decimal("-99999999." + "9" * 30)]),
        (decimal_schema(None, 0), "decimal(38,0)", [unscaled(2**64 - 1)], [Decimal(2**64 - 1)]),
        (UNSIGNED, "decimal(20,0)", [-1, 0, -(2**63)], [Decimal(2**64 - 1), Decimal(0), Decimal(2**63)]),
        (PROPAGATED, "decimal(20,0)", [-1], [Decimal(2**64 - 1)]),
        (
            decimal_schema(None, 0).replace(stored=Stored(unsigned=True)), "decimal(20,0)",
            [unscaled(2**64 - 1)], [Decimal(2**64 - 1)],
        ),
        (decimal_schema(65, 30), "string", [unscaled(-(10**65) + 1)], ["-" + "9" * 35 + "." + "9" * 30]),
        (array_schema(decimal_schema(5, 1)), "array<decimal(5,1)>", [[unscaled(15), None]], [[Decimal("1.5"), None]]),
        (Schema("map", keys=STRING, items=FLOAT64), "map<string,double>", [{"a": 1.0}], [[("a", 1.0)]]),
    ],
)  # fmt: skip
def test_values_become_columns(schema: Schema, ddl: str, values: list[Any], expected: list[Any]) -> None:
    kind = column_type(schema)
    assert kind.ddl == ddl
    column = pa.array(kind.column([*values, None]))
    assert column.type == pyarrow_type(kind.arrow)
    assert column.to_pylist() == [*expected, None]


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (UNSIGNED, -1, "18446744073709551615"),
        (decimal_schema(10, 2), unscaled(-150), "-1.50"),
        (Schema("int32", name="io.debezium.time.Date"), -1, "1969-12-31"),
        (Schema("int64", name="io.debezium.time.MicroTimestamp"), -1, str(LAST)),
        (Schema("string", name="io.debezium.time.ZonedTimestamp"), "1969-12-31T23:59:59.999999Z", f"{LAST}Z"),
        (Schema("boolean"), True, "true"),
        (Schema("bytes"), b"\x00\xff", "00ff"),
        (STRING, "it's \\ ü", "it's \\ ü"),
        (FLOAT64, 0.1, "0.1"),
        (array_schema(STRING), ["a"], None),
    ],
)
def test_a_value_and_its_text(schema: Schema, value: Any, text: str | None) -> None:
    kind = column_type(schema)
    assert text_of(kind, value) == text
    if text is not None:
        assert value_of(text, pyarrow_type(kind.arrow)) == pa.array(kind.column([value]))[0]


def test_a_struct_keeps_its_members() -> None:
    schema = struct_schema(
        "Point", {"x": FLOAT64, "at": Schema("int64", name=logical.CONNECT_TIMESTAMP.name, optional=True)}
    )
    kind = column_type(schema)
    assert kind.ddl == "struct<x:double,at:timestamp_ntz>"
    column = pa.array(kind.column([Struct(schema, (1.5, 1)), None]))
    assert column.to_pylist() == [{"x": 1.5, "at": datetime(1970, 1, 1, 0, 0, 0, 1000)}, None]
