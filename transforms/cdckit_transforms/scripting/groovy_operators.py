"""What Groovy's operators do with values."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact
from typing import Any, NoReturn

from cdckit import Struct
from cdckit_transforms.java_numbers import float_text
from cdckit_transforms.scripting import texts
from cdckit_transforms.scripting.language import EvaluationError, Operation, kind

_LARGEST = 1 << 63
_EXACT = Context(prec=1000, Emax=99_999, Emin=-99_999)
_FEWEST_DIGITS = 10
"""Behind the point of a quotient that has no end, as Groovy rounds it."""
_Arithmetic = Callable[[Any, Any], Any]


def true(value: Any) -> bool:
    """Whether a value is neither null nor false, 0 or empty."""
    if value.__class__ is bool:
        return bool(value)
    if value is None:
        return False
    if isinstance(value, int | float | Decimal | str | list | dict):
        return bool(value)
    return True


def number(value: Any) -> bool:
    """Whether a value is a number; Python's booleans are none."""
    return isinstance(value, int | float | Decimal) and value.__class__ is not bool


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Two numbers of types that Python reckons with."""
    if isinstance(left, float) and isinstance(right, Decimal):
        return left, float(right)
    if isinstance(left, Decimal) and isinstance(right, float):
        return float(left), right
    return left, right


def _as_code(value: Any, other: Any) -> Any:
    """A text of one character beside a number counts as the character's code."""
    return ord(value) if isinstance(value, str) and number(other) and texts.length(value) == 1 else value


def equal(left: Any, right: Any) -> bool:
    """`==`."""
    if left.__class__ is right.__class__:
        if isinstance(left, list):
            return len(left) == len(right) and all(map(equal, left, right))
        return bool(left == right)
    left, right = _as_code(left, right), _as_code(right, left)
    if number(left) and number(right):
        left, right = _alike(left, right)
        return bool(left == right)
    return isinstance(left, Struct) and isinstance(right, Struct) and left == right


def compared(left: Any, right: Any) -> int:
    """-1, 0 or 1, as `<=>`; null is before everything."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    left, right = _as_code(left, right), _as_code(right, left)
    if isinstance(left, str) and isinstance(right, str):
        return texts.before(left, right)
    if (number(left) and number(right)) or (isinstance(left, bool) and isinstance(right, bool)):
        left, right = _alike(left, right)
        return int(left > right) - int(left < right)
    raise EvaluationError(f"{kind(left)} and {kind(right)} cannot be compared")


def shown(value: Any) -> str:
    """A value as a text.

    Raises:
        EvaluationError: structs, lists and the like are not shown.
    """
    if isinstance(value, str):
        return value
    if value is None or value.__class__ is bool:
        return str(value).lower() if value is not None else "null"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, int | Decimal):
        return str(value)
    raise EvaluationError(f"{kind(value)} cannot be made a text")


def _refuse(sign: str, left: Any, right: Any) -> NoReturn:
    raise EvaluationError(f"'{sign}' cannot be applied to {kind(left)} and {kind(right)}")


def _reckoned(sign: str, left: Any, right: Any, way: _Arithmetic) -> Any:
    """Two numbers' sum, difference or product; whole numbers may have 64 bits."""
    if not (number(left) and number(right)):
        _refuse(sign, left, right)
    left, right = _alike(left, right)
    if isinstance(left, float) or isinstance(right, float):
        return way(float(left), float(right))
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        exactly = {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply}[sign]
        return exactly(Decimal(left), Decimal(right))
    found = way(left, right)
    if not -_LARGEST <= found < _LARGEST:
        raise EvaluationError(f"the result of '{sign}' has more than 64 bits")
    return found


def _plus(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        return left + shown(right)
    if isinstance(right, str) and (left is None or number(left)):
        return shown(left) + right
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    return _reckoned("+", left, right, operator.add)


def _minus(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        return left.replace(shown(right), "", 1)
    return _reckoned("-", left, right, operator.sub)


def _divided(left: Any, right: Any) -> Any:
    """Of whole numbers and decimals: a decimal, rounded where it has no end."""
    if not (number(left) and number(right)):
        _refuse("/", left, right)
    if isinstance(left, float) or isinstance(right, float):
        return _divided_floats(float(left), float(right))
    left, right = Decimal(left), Decimal(right)
    if not right:
        raise EvaluationError("a division by 0")
    digits = max(len(left.as_tuple().digits), len(right.as_tuple().digits)) + _FEWEST_DIGITS
    ending = Context(prec=200, Emax=99_999, Emin=-99_999)
    found = ending.divide(left, right)
    if not ending.flags[Inexact]:
        return found
    rounding = Context(prec=digits, rounding=ROUND_HALF_UP)
    scale = max(-int(left.as_tuple().exponent), -int(right.as_tuple().exponent), _FEWEST_DIGITS)
    found = rounding.divide(left, right)
    return found.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT) if _scale(found) > scale else found


def _scale(value: Decimal) -> int:
    return -int(value.as_tuple().exponent)


def _divided_floats(left: float, right: float) -> float:
    if right:
        return left / right
    return math.nan if not left or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)


def _remainder(left: Any, right: Any) -> Any:
    """With the sign of the left one."""
    if not (number(left) and number(right)):
        _refuse("%", left, right)
    if not right:
        raise EvaluationError("a division by 0")
    left, right = _alike(left, right)
    if isinstance(left, float) or isinstance(right, float):
        return math.fmod(float(left), float(right))
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return _EXACT.remainder(Decimal(left), Decimal(right))
    return left - right * (abs(left) // abs(right)) * (1 if (left < 0) == (right < 0) else -1)


def _in(left: Any, right: Any) -> bool:
    if isinstance(right, list):
        return any(equal(left, item) for item in right)
    if isinstance(right, dict):
        return left in right
    if isinstance(right, str):
        return left is not None and shown(left) == right
    return equal(left, right) if right is not None else left is None


def _matches(left: Any, right: Any) -> bool:
    return left is not None and right is not None and texts.pattern_of(right).fullmatch(shown(left))


OPERATIONS: dict[str, Operation] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "=~": lambda left, right: texts.pattern_of(right).found(shown(left)),
    "==~": _matches,
    "<=>": compared,
    "<": lambda left, right: compared(left, right) < 0,
    "<=": lambda left, right: compared(left, right) <= 0,
    ">": lambda left, right: compared(left, right) > 0,
    ">=": lambda left, right: compared(left, right) >= 0,
    "in": _in,
    "!in": lambda left, right: not _in(left, right),
    "+": _plus,
    "-": _minus,
    "*": lambda left, right: _reckoned("*", left, right, operator.mul),
    "/": _divided,
    "%": _remainder,
}
