"""Java's numbers: how they are read out of texts, made narrower, and written."""

from __future__ import annotations

import re
import struct
from decimal import Decimal

from cdckit.java.text import java_double

_DECIMAL = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_FLOAT = re.compile(r"([+-]?)(?:(NaN|Infinity)|((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?)", re.ASCII)
_HEXADECIMAL = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?", re.ASCII
)
_LARGEST_EXPONENT = 10_000


def decimal_of(text: str) -> Decimal:
    """A text as `BigDecimal` reads it.

    Raises:
        ValueError: it is no number, or one of more than 10,000 digits.
    """
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"'{text}' is no number")
    number = Decimal(text)
    if abs(number.adjusted()) > _LARGEST_EXPONENT:
        raise ValueError(f"'{text}' has too many digits")
    return number


def integer_of(text: str, bits: int) -> int:
    """A text as `Long.parseLong` and the like read it.

    Raises:
        ValueError: it is no whole number of so many bits.
    """
    if not _INTEGER.fullmatch(text) or len(text) > 20:
        raise ValueError(f"'{text}' is no whole number of {bits} bits")
    number = int(text)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"{text} does not fit into {bits} bits")
    return number


def float_of(text: str) -> float:
    """A text as `Double.parseDouble` reads it.

    Raises:
        ValueError: it is no number.
    """
    stripped = text.strip("".join(map(chr, range(33))))
    if found := _HEXADECIMAL.fullmatch(stripped):
        return _from_hexadecimal(found[1])
    found = _FLOAT.fullmatch(stripped)
    if not found:
        raise ValueError(f"'{text}' is no number")
    return float(found[1] + (found[2] or found[3]))


def _from_hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return float("-inf") if text.startswith("-") else float("inf")


def narrowed(number: int, bits: int) -> int:
    """The lowest bits of a whole number, the highest of them its sign."""
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half


def truncated(number: float, bits: int) -> int:
    """A number without what stands behind its point, and at most as large as so many bits can tell; NaN is 0."""
    if number != number:  # noqa: PLR0124 - only NaN differs
        return 0
    limit = 1 << bits - 1
    return -limit if number <= -limit else limit - 1 if number >= limit else int(number)


def widened(number: float) -> float:
    """The double that a float of 32 bits is, of the shortest digits that stand for it here."""
    try:
        found: float = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return float("-inf") if number < 0 else float("inf")
    return found


def float32(number: float) -> float:
    """The float of 32 bits that is next to a number, as the shortest digits that stand for it."""
    exact = widened(number)
    if exact - exact != 0:
        return exact
    packed = struct.pack("f", exact)
    for digits in range(6, 9):
        short = float(f"{exact:.{digits}g}")
        if _packed(short) == packed:
            return short
    return float(f"{exact:.9g}")


def _packed(number: float) -> bytes:
    try:
        return struct.pack("f", number)
    except OverflowError:
        return b""


def float_text(number: float) -> str:
    """A number as `Double.toString` and `Float.toString` write it."""
    return java_double(number, "E")
