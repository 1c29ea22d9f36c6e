"""Which of Spark's types hold all values of others, as Delta widens columns without writing a file anew.

https://docs.delta.io/latest/delta-type-widening.html
"""

from __future__ import annotations

import re

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_INTEGERS = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}
"""Integers by size, with the digits that Delta wants of a decimal."""
_ORDER = list(_INTEGERS)


def widens(present: str, kind: str) -> bool:
    """Whether a column of type `present` can be given the type `kind`, and every value stays what it is."""
    if present in _INTEGERS and kind in _INTEGERS:
        return _ORDER.index(present) < _ORDER.index(kind)
    if (present, kind) in (("float", "double"), ("date", "timestamp_ntz")):
        return True
    if present in _INTEGERS and kind == "double":
        return present != "bigint"
    digits = _digits(kind)
    if digits is None:
        return False
    if present in _INTEGERS:
        return digits[0] >= _INTEGERS[present]
    before = _digits(present)
    return before is not None and before != digits and before[0] <= digits[0] and before[1] <= digits[1]


def holds(present: str, kind: str) -> bool:
    """Whether a column of type `present` takes every value of type `kind`."""
    return present == kind or widens(kind, present)


def _digits(kind: str) -> tuple[int, int] | None:
    """A decimal's digits before and behind the point."""
    found = _DECIMAL.fullmatch(kind)
    return None if found is None else (int(found[1]) - int(found[2]), int(found[2]))
