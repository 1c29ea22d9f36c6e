"""Values of one primitive type as another one, as Kafka Connect's Cast makes them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

from cdckit import Schema, TransformError, logical
from cdckit.connector.connect_json.decimals import number_of
from cdckit.java.date_format import DateFormat
from cdckit_transforms.java_numbers import float32, float_of, float_text, integer_of, narrowed, truncated, widened

Target = Literal["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string"]
Cast = Callable[[Any], Any]

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_DAY = 86_400_000
_MILLISECONDS = {
    logical.CONNECT_DATE.name: _DAY,
    logical.CONNECT_TIME.name: 1,
    logical.CONNECT_TIMESTAMP.name: 1,
}
"""The types that are moments for Kafka Connect, and how many milliseconds their units are."""
_TIME = DateFormat("HH:mm:ss.SSS'Z'")
_DATE = DateFormat("yyyy-MM-dd")
_TIMESTAMP = DateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")


def casting(schema: Schema, target: Target) -> Cast:
    """What makes values of a schema, null apart, values of another type.

    It raises `ValueError` where a text is no such number.

    Raises:
        TransformError: values of the schema cannot be cast.
    """
    if schema.type in ("array", "map", "struct"):
        raise TransformError(f"{schema.type} cannot be cast")
    if target == "string":
        return _texts(schema)
    if _BITS.get(schema.type, 65) <= _BITS.get(target, 0):
        return same
    read = _reading(schema, target)
    write = same if schema.type == "string" else _WRITERS[target]
    return write if read is same else read if write is same else lambda value: write(read(value))


def _texts(schema: Schema) -> Cast:
    if schema.name in _MILLISECONDS:
        unit = _MILLISECONDS[schema.name]
        return lambda value: _moment(value * unit)
    if schema.type == "bytes":
        if schema.name == logical.DECIMAL_NAME:
            scale = _scale(schema)
            return lambda value: str(number_of(value, scale))
        return lambda value: b64encode(value).decode("ascii")
    return {"boolean": _boolean_text, "float32": float_text, "float64": float_text}.get(schema.type, str)


def _moment(milliseconds: int) -> str:
    """A moment as text: a time of the first day, a day, or both."""
    if milliseconds < _DAY:
        return _TIME.format(milliseconds)
    return (_TIMESTAMP if milliseconds % _DAY else _DATE).format(milliseconds)


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


def _scale(schema: Schema) -> int:
    return int((schema.parameters or {}).get("scale", 0))


def _reading(schema: Schema, target: Target) -> Cast:
    """What makes a number of a value; of a text, the very value that is wanted."""
    if schema.type == "string":
        return _READERS[target]
    if schema.type == "bytes":
        if schema.name != logical.DECIMAL_NAME:
            raise TransformError("bytes can be cast to string alone")
        scale = _scale(schema)
        return lambda value: number_of(value, scale)
    return widened if schema.type == "float32" else same


def same(value: Any) -> Any:
    """The value."""
    return value


def _integer(number: float | Decimal, bits: int) -> int:
    """Floating-point numbers become int32 or int64 first, and are cut there; others keep their lowest bits."""
    if number.__class__ is float:
        return narrowed(truncated(number, max(bits, 32)), bits)
    return narrowed(int(number), bits)


def _float(number: float | Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("-inf") if number < 0 else float("inf")


_WRITERS: dict[str, Cast] = {
    "int8": lambda number: _integer(number, 8),
    "int16": lambda number: _integer(number, 16),
    "int32": lambda number: _integer(number, 32),
    "int64": lambda number: _integer(number, 64),
    "float32": lambda number: float32(_float(number)),
    "float64": _float,
    "boolean": lambda number: _integer(number, 64) != 0,
}
_READERS: dict[str, Cast] = {
    "int8": lambda text: integer_of(text, 8),
    "int16": lambda text: integer_of(text, 16),
    "int32": lambda text: integer_of(text, 32),
    "int64": lambda text: integer_of(text, 64),
    "float32": lambda text: float32(float_of(text)),
    "float64": float_of,
    "boolean": lambda text: text.lower() == "true",
}
