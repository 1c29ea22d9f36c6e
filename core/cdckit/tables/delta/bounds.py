"""For which values the bounds hold that Delta's log has of a file, as delta-rs tells and reads them."""

from __future__ import annotations

from decimal import Decimal

EXACT_DIGITS = 15
"""Bounds of decimals are told as double-precision numbers, which are exact up to so many digits."""
CUT_MICROS = 1000
"""Bounds of moments may be cut to whole milliseconds."""


def told_exactly(*values: Decimal) -> bool:
    """Whether decimals lie within the bounds of their files; others may not, as bounds are rounded.

    Numbers keep their order when they are rounded, so that no other value of a file counts.
    """
    return all(len(value.as_tuple().digits) <= EXACT_DIGITS for value in values)
