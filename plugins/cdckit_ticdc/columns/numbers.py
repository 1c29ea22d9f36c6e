"""Numbers as messages carry them, as values of a schema."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from cdckit import Schema, logical

_EXACT = Context(prec=200, rounding=ROUND_HALF_EVEN)
_SINGLE = struct.Struct("f")
_TWO_63, _TWO_64 = 1 << 63, 1 << 64

Read = Callable[[Any], Any]


def unscaled_bytes(number: int) -> bytes:
    """A `Decimal`'s unscaled integer as Connect holds it: big-endian two's complement, as short as can be."""
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def unsigned_bigint(schema: Schema) -> Read:
    """Reads a BIGINT UNSIGNED, which may be written as its two's complement.

    `schema` is int64 (then the value is the two's complement, as Debezium's mode `long` has it) or a `Decimal`.
    """
    if schema.name == logical.DECIMAL_NAME:
        return lambda value: unscaled_bytes(int(value) % _TWO_64)

    def read_long(value: Any) -> int:
        number = int(value)
        return number - _TWO_64 if number >= _TWO_63 else number

    return read_long


def decimal(schema: Schema) -> Read:
    """Reads a DECIMAL out of a text, a floating-point number, or the bytes that it has in Connect already."""
    if schema.type == "float64":
        return float
    if schema.type == "string":
        return _decimal_text
    scale = int((schema.parameters or {})["scale"])

    def read_decimal(value: Any) -> bytes:
        if value.__class__ is bytes:
            return bytes(value)
        whole, _, fraction = value.partition(".") if value.__class__ is str else ("", "", None)
        if fraction is not None and len(fraction) == scale:
            return unscaled_bytes(int(whole + fraction))
        exact = Decimal(value if value.__class__ is str else repr(value)).scaleb(scale, _EXACT)
        return unscaled_bytes(int(exact.to_integral_value(ROUND_HALF_EVEN, _EXACT)))

    return read_decimal


def _decimal_text(value: Any) -> str:
    return value if value.__class__ is str else f"{Decimal(repr(value)):f}"


def bits(schema: Schema) -> Read:
    """Reads a BIT out of its number."""
    if schema.type == "boolean":
        return lambda value: int(value) != 0
    size = (int((schema.parameters or {})["length"]) + 7) // 8
    return lambda value: int(value).to_bytes(size, "little")


def enum_label(labels: tuple[str, ...]) -> Read:
    """Reads an ENUM out of its label's number, counted from 1; 0 is the invalid value, shown as ""."""
    shown = ("", *labels)
    return lambda value: shown[_index(int(value), len(shown))]


def set_labels(labels: tuple[str, ...]) -> Read:
    """Reads a SET out of its bits, the first label's the lowest."""
    weighed = [(1 << place, label) for place, label in enumerate(labels)]

    def read_set(value: Any) -> str:
        number = _index(int(value), 1 << len(labels))
        return ",".join(label for weight, label in weighed if number & weight)

    return read_set


def _index(number: int, end: int) -> int:
    if not 0 <= number < end:
        raise ValueError(f"{number} is beyond the labels that the column has")
    return number


def floats(schema: Schema, scale: int | None) -> Read:
    """Reads a FLOAT or DOUBLE.

    One of 32 bits becomes the number whose shortest digits are the float's, as MySQL prints it: 3.14 for
    3.140000104904175; a FLOAT(M,D), which has 32 bits too, the number with `scale` digits behind the point.
    """
    if scale is not None:
        return lambda value: round(_number(value), scale)
    return shortest if schema.type == "float32" else _number


def shortest(value: Any) -> float:
    """The double with the fewest digits that is the same float of 32 bits."""
    number = _number(value)
    if number - number != 0:  # infinite, or none at all
        return number
    bits = _SINGLE.pack(number)
    return next(short for digits in range(6, 18) if _SINGLE.pack(short := float(f"{number:.{digits}g}")) == bits)


def _number(value: Any) -> float:
    if value.__class__ is bool:
        raise TypeError("is no number")
    return float(value)


def integer(value: Any) -> int:
    """Reads an integer out of a number or its text."""
    if value.__class__ is int or value.__class__ is str:
        return int(value)
    raise TypeError("is no integer")
