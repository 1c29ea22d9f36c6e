"""For which values the bounds hold that Delta's log has of a file, as delta-rs tells and reads them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

EXACT_DIGITS = 15
"""Bounds of decimals are told as double-precision numbers, which are exact up to so many digits."""
CUT_MICROS = 1000
"""Bounds of moments may be cut to whole milliseconds."""
_FAR_MICROS = 1 << 56
"""From there on, in the year 4253, delta-rs counts the microseconds since 1970 in steps of sixteen or more, and takes
some bounds that were cut as they are."""
_SECOND = 1_000_000
"""Of moments in microseconds; a multiple of 64, so that whole seconds are counted exactly."""


def told_exactly(*values: Decimal) -> bool:
    """Whether decimals lie within the bounds of their files; others may not, as bounds are rounded.

    Numbers keep their order when they are rounded, so that no other value of a file counts.
    """
    return all(len(value.as_tuple().digits) <= EXACT_DIGITS for value in values)


def within_cut(micros: Iterable[int]) -> bool:
    """Whether moments, in microseconds since 1970, lie within the bounds of their files, though these are cut."""
    return all(moment < _FAR_MICROS or moment % _SECOND == 0 for moment in micros)
