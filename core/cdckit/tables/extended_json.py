"""Values of MongoDB's extended JSON, of either dialect, as the types that a user declares for columns.

The legacy dialect writes a date as `{"$date": 1718…}`, the relaxed and canonical ones as `{"$date": "2024-…"}` or
`{"$date": {"$numberLong": "…"}}`; numbers are bare or wrapped (MongoDB Extended JSON v2, and v1 as its "strict mode").
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import orjson

from cdckit import logical
from cdckit.api.schema import OPTIONAL_BOOLEAN, OPTIONAL_BYTES, OPTIONAL_STRING, Schema

_DECIMAL_TYPE = re.compile(r"decimal\((\d+)(?:,\s*(\d+))?\)")
_NUMBERS = ("$numberLong", "$numberInt", "$numberDouble", "$numberDecimal")
_TEXTS = ("$oid", "$symbol", "$uuid", *_NUMBERS)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = Context(prec=100)


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """A type of a declared column.

    Attributes:
        name: as it is declared.
        schema: of the values that `read` gives.
        read: a value of extended JSON, not null, to one of the schema's primitive type; raises ValueError, TypeError,
            LookupError or ArithmeticError for a value of another type.
    """

    name: str
    schema: Schema
    read: Callable[[Any], Any]


def declared_type(name: str) -> DeclaredType:
    """The type called `name`.

    Raises:
        ValueError: there is none.
    """
    if found := _DECIMAL_TYPE.fullmatch(name):
        precision, scale = int(found[1]), int(found[2] or 0)
        schema = logical.decimal(scale, precision).replace(optional=True)
        return DeclaredType(name, schema, lambda value: _unscaled(value, precision, scale))
    if name not in _TYPES:
        raise ValueError(f"'{name}' is no type of a column; there are {', '.join(_TYPES)}, decimal(p,s)")
    schema, read = _TYPES[name]
    return DeclaredType(name, schema, read)


def _number(value: Any) -> Any:
    """A number as it stands there, out of its wrapping."""
    if isinstance(value, dict):
        (kind, text), *more = value.items()
        if kind not in _NUMBERS or more:
            raise ValueError(kind)
        return Decimal(text) if kind == "$numberDecimal" else text
    if isinstance(value, bool):
        raise TypeError(value)
    return value


def _whole(bits: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        number = _number(value)
        exact = number if isinstance(number, float) else Decimal(str(number))  # a double is not what it is shown as
        found = int(exact)
        if found != exact or not -(1 << bits - 1) <= found < 1 << bits - 1:
            raise ValueError(value)
        return found

    return read


def _double(value: Any) -> float:
    return float(_number(value))


def _unscaled(value: Any, precision: int, scale: int) -> bytes:
    """The unscaled integer's bytes, highest first, as Connect's Decimal has them."""
    number = Decimal(str(_number(value))).scaleb(scale, _EXACT)
    found = int(number)
    if found != number or abs(found) >= 10**precision:
        raise ValueError(value)
    return found.to_bytes(found.bit_length() // 8 + 1, "big", signed=True)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _instant(value: Any) -> str:
    """A date, or the second of an oplog's timestamp, as ISO 8601 text."""
    if "$timestamp" in value:
        return _iso(int(value["$timestamp"]["t"]) * 1000)
    date = value["$date"]
    if isinstance(date, str):
        datetime.fromisoformat(date)
        return date
    return _iso(int(_number(date)))


def _iso(milliseconds: int) -> str:
    return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat().replace("+00:00", "Z")


def _binary(value: Any) -> bytes:
    data = value["$binary"]
    return base64.b64decode(data["base64"] if isinstance(data, dict) else data)


def _text(value: Any) -> str:
    """Strings, identifiers and numbers as they are, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((kind, text),) = value.items()
        if kind in _TEXTS:
            return str(text)
    return _json(value)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


_TYPES: dict[str, tuple[Schema, Callable[[Any], Any]]] = {
    "string": (OPTIONAL_STRING, _text),
    "json": (OPTIONAL_STRING, _json),
    "boolean": (OPTIONAL_BOOLEAN, _boolean),
    "int": (Schema("int32", optional=True), _whole(32)),
    "bigint": (Schema("int64", optional=True), _whole(64)),
    "double": (Schema("float64", optional=True), _double),
    "timestamp": (logical.ZONED_TIMESTAMP.replace(optional=True), _instant),
    "binary": (OPTIONAL_BYTES, _binary),
}
