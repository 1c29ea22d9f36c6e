"""Numbers and strings in texts as Java and MongoDB's Java driver write them."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from functools import cache

_ESCAPED_CATEGORIES = frozenset({"Lm", "Mn", "Me", "Mc", "Zl", "Zp", "Cc", "Cf", "Co", "Cs", "Cn"})


def java_double(value: float, power: str = "E+") -> str:
    """A number as Java's `Double.toString` writes it.

    Args:
        value: the number.
        power: what stands before a positive exponent: the driver of Debezium 3 puts `E+`, Java itself `E`.
    """
    if 1e-3 <= value < 1e7 or value == 0 or -1e7 < value <= -1e-3:
        return repr(value)
    if value - value != 0:
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
    number = Decimal(repr(value)).normalize()
    if len(number.as_tuple().digits) == 1 and float(two := f"{value:.1e}") == value:
        number = Decimal(two)  # Java writes two digits at least: of those, the nearest
    digits = "".join(map(str, number.as_tuple().digits))
    exponent = number.adjusted()
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}{power if exponent > 0 else 'E'}{exponent}"


def escaped(json: str) -> str:
    """A JSON text whose characters that are neither letter, digit, punctuation nor symbol are escaped.

    Such characters stand in strings alone: once for a whole document costs less than string by string.
    """
    if json.isascii():
        return json if "\x7f" not in json else json.replace("\x7f", "\\u007f")
    return _unusual().sub(_escaped, json)


@cache
def _unusual() -> re.Pattern[str]:
    """Matches what a string must not show as it is, beyond what JSON itself forbids."""
    ranges: list[list[int]] = []
    for code in range(0x7F, 0x10000):
        if unicodedata.category(chr(code)) in _ESCAPED_CATEGORIES:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return re.compile("[" + "".join(f"\\u{a:04x}-\\u{b:04x}" for a, b in ranges) + "\U00010000-\U0010ffff]")


def _escaped(found: re.Match[str]) -> str:
    """A character by its UTF-16 units."""
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
