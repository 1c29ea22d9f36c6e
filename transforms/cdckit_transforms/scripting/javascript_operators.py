"""What JavaScript's operators do with values.

Its numbers are doubles; a field's decimal is one of Java's objects, a number for some operators and a text for others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from cdckit import Struct
from cdckit_transforms.scripting import texts
from cdckit_transforms.scripting.language import UNDEFINED, EvaluationError, Operation, kind

_NUMBER = re.compile(r"[+-]?(?:Infinity|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]+", re.ASCII)
_HEXADECIMAL_DIGITS = 256
_SAFE = 1 << 53
_SMALLEST_POWER, _LARGEST_POWER = -6, 21


def true(value: Any) -> bool:
    """Whether a value is neither null nor undefined, false, 0, NaN or the empty text."""
    if value is None or value is UNDEFINED:
        return False
    if isinstance(value, float) and math.isnan(value):
        return False
    return bool(value) if isinstance(value, bool | int | float | str) else True


def number(value: Any) -> bool:
    """Whether a value is a number; Python's booleans are none."""
    return isinstance(value, int | float) and value.__class__ is not bool


def numeric(value: Any) -> float | int:
    """What a value is as a number; NaN where it is none.

    Raises:
        EvaluationError: structs, lists and the like are not made numbers.
    """
    if number(value):
        return value  # type: ignore[no-any-return]
    if value is None or value.__class__ is bool:
        return int(bool(value))
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, str):
        return _read(value.strip())
    if value is UNDEFINED:
        return math.nan
    raise EvaluationError(f"{kind(value)} cannot be made a number")


def _read(text: str) -> float | int:
    if not text:
        return 0
    if _HEXADECIMAL.fullmatch(text):
        return float(int(text, 16)) if len(text) < _HEXADECIMAL_DIGITS else math.inf
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def shown(value: Any) -> str:
    """A value as a text.

    Raises:
        EvaluationError: structs, lists and the like are not shown.
    """
    if isinstance(value, str):
        return value
    if value is None or value.__class__ is bool:
        return "null" if value is None else str(value).lower()
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, float):
        return _digits(value)
    raise EvaluationError(f"{kind(value)} cannot be made a text")


def _digits(number: float) -> str:
    """A number's shortest digits, with a power of ten where it is large or small."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == int(number) and abs(number) <= _SAFE:
        return str(int(number))
    digits, _, power = repr(number).partition("e")
    if not power:
        return digits.removesuffix(".0")
    places = int(power)
    if not _SMALLEST_POWER <= places < _LARGEST_POWER:
        return f"{digits}e{places:+d}"
    return f"{Decimal(repr(number)):f}"


def same(left: Any, right: Any) -> bool:
    """`===`; structs, lists and the like are the same if they are one."""
    if number(left) and number(right):
        return bool(left == right)
    if isinstance(left, Struct):
        return False
    return left is right or (left.__class__ is right.__class__ and isinstance(left, str | bool) and left == right)


def equal(left: Any, right: Any) -> bool:
    """`==`: numbers, texts and booleans are compared as numbers where their types differ."""
    if left is None or left is UNDEFINED or right is None or right is UNDEFINED:
        return (left is None or left is UNDEFINED) and (right is None or right is UNDEFINED)
    if left.__class__ is right.__class__ or not (_plain(left) or _plain(right)):
        return same(left, right)
    if isinstance(left, str | Decimal) and isinstance(right, str | Decimal):
        return shown(left) == shown(right)
    return bool(numeric(left) == numeric(right))


def _plain(value: Any) -> bool:
    return isinstance(value, int | float | str)


def _compared(holds: Callable[[Any, Any], bool]) -> Operation:
    def operation(left: Any, right: Any) -> bool:
        if isinstance(left, str) and isinstance(right, str):
            return holds(texts.before(left, right), 0)
        return holds(numeric(left), numeric(right))

    return operation


def _plus(left: Any, right: Any) -> Any:
    if isinstance(left, str | Decimal) or isinstance(right, str | Decimal):
        return shown(left) + shown(right)
    return _double(numeric(left) + numeric(right))


def _double(value: float | int) -> float | int:
    """The double that is next to a whole number."""
    if isinstance(value, int) and not -_SAFE <= value <= _SAFE:
        return float(value)
    return value


def _times(left: Any, right: Any) -> Any:
    return _double(numeric(left) * numeric(right))


def _divided(left: Any, right: Any) -> float:
    dividend, divisor = float(numeric(left)), float(numeric(right))
    if divisor:
        return dividend / divisor
    if not dividend or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1, divisor)


def _remainder(left: Any, right: Any) -> float:
    """With the sign of the left one."""
    dividend, divisor = float(numeric(left)), float(numeric(right))
    if not divisor or math.isinf(dividend) or math.isnan(dividend) or math.isnan(divisor):
        return math.nan
    return math.fmod(dividend, divisor)


def _in(left: Any, right: Any) -> bool:
    if isinstance(right, Struct | dict):
        return shown(left) in right
    raise EvaluationError(f"{kind(right)} has no fields to look for with 'in'; a list has includes(…)")


OPERATIONS: dict[str, Operation] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "===": same,
    "!==": lambda left, right: not same(left, right),
    "<": _compared(lambda left, right: bool(left < right)),
    "<=": _compared(lambda left, right: bool(left <= right)),
    ">": _compared(lambda left, right: bool(left > right)),
    ">=": _compared(lambda left, right: bool(left >= right)),
    "in": _in,
    "+": _plus,
    "-": lambda left, right: _double(numeric(left) - numeric(right)),
    "*": _times,
    "/": _divided,
    "%": _remainder,
}
