"""Connect's decimals: the bytes of an unscaled integer, and the number that they stand for with a schema's scale."""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Python's own context rounds to 28 digits; MySQL has 65."""
_WITH_MEASURE = Context(prec=MAX_PREC, Emax=10_000, Emin=-10_000)
"""The same for numbers out of texts, whose exponents a few characters make as large as they like."""


def number_of(value: bytes, scale: int) -> Decimal:
    """The number of an unscaled integer's bytes."""
    return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, _EXACT)


def bytes_of(number: Decimal, scale: int) -> bytes:
    """The bytes of a number's unscaled integer, as few as there can be; digits beyond the scale are cut off.

    Raises:
        ArithmeticError: it has more than 10,000 digits.
    """
    unscaled = int(number.scaleb(scale, _WITH_MEASURE))
    return unscaled.to_bytes((unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True)
