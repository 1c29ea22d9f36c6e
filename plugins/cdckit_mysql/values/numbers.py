"""Numbers as Debezium's events show them."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from math import floor
from struct import Struct

_EXACT = Context(prec=200)
_FLOAT32 = Struct("<f")
_TABLE_LIMIT = 1 << 16
_LONGEST_INT64 = (1 << 63) - 1


def decimal_bytes(unscaled: int) -> bytes:
    """An unscaled integer as Connect's Decimal holds it: big-endian two's complement, as short as can be."""
    size = ((unscaled if unscaled >= 0 else ~unscaled).bit_length() >> 3) + 1
    return unscaled.to_bytes(size, "big", signed=True)


def decimal_text(unscaled: int, scale: int) -> str:
    """The number in plain digits, with all `scale` digits behind the point."""
    if not scale:
        return str(unscaled)
    digits = str(abs(unscaled)).zfill(scale + 1)
    sign = "-" if unscaled < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def decimal_double(unscaled: int, scale: int) -> float:
    """The double that is nearest to the number."""
    number: float = unscaled / 10**scale
    return number


def unscaled(text: str, scale: int) -> int:
    """The integer that stands for a decimal number of `scale` digits behind the point, rounded half up.

    Raises:
        decimal.InvalidOperation: the text is no number.
    """
    number = Decimal(text).quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP, context=_EXACT)
    return int(number.scaleb(scale, context=_EXACT))


def rounded_integer(text: str) -> int:
    """An integer column's default as Java rounds it: by way of a double, within 64 bits."""
    number = floor(float(text) + 0.5)
    return max(-_LONGEST_INT64 - 1, min(_LONGEST_INT64, number))


class ShortestFloats(dict[float, float]):
    """For a float of 32 bits the double whose shortest digits are the float's: 0.1 for 0.10000000149011612."""

    def __missing__(self, number: float) -> float:
        if len(self) >= _TABLE_LIMIT:
            self.clear()
        self[number] = shortest = _shortest(number)
        return shortest


def _shortest(number: float) -> float:
    stored = _FLOAT32.pack(number)
    candidates = (float(f"{number:.{digits}g}") for digits in range(6, 9))
    return next((c for c in candidates if _packed(c) == stored), float(f"{number:.9g}"))


def _packed(number: float) -> bytes | None:
    try:
        return _FLOAT32.pack(number)
    except OverflowError:
        return None


SHORTEST_FLOATS = ShortestFloats()


def six_digits(number: float) -> float:
    """A float of 32 bits as the server prints it in a result set: with six digits."""
    return float(f"{number:.6g}")


def six_digits_wide(number: float) -> float:
    """The float of 32 bits that is nearest to what the server prints, with all its digits."""
    nearest: float = _FLOAT32.unpack(_FLOAT32.pack(six_digits(number)))[0]
    return nearest


def base64_text(data: bytes) -> str:
    """Bytes as base64."""
    return b2a_base64(data, newline=False).decode("ascii")


_URL_SAFE = str.maketrans("+/", "-_")


def base64_url_text(data: bytes) -> str:
    """Bytes as base64 for URLs, padded."""
    return base64_text(data).translate(_URL_SAFE)


BINARY_FORMS: dict[str, Callable[[bytes], bytes | str]] = {
    "bytes": bytes,
    "base64": base64_text,
    "base64-url-safe": base64_url_text,
    "hex": bytes.hex,
}
"""How bytes are shown for each `binary.handling.mode`."""
