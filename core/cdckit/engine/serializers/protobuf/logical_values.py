"""The bytes of Connect's own logical types, as messages of Google's and Confluent's (without their length)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from cdckit.engine.serializers.protobuf.numbers import SMALL, integer, key, numbered, small_numbers

_MILLIS_A_DAY = 86_400_000
_FIRST_GREGORIAN_DAY = -141_427
"""1582-10-15; Java's calendar, which the converter uses, is Julian before."""
_TO_MARCH = 719_468
_SIZES, _DIGITS = small_numbers(key(1, 2)), small_numbers(key(2, 0))
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799


def decimal_of(scale: int) -> Callable[[bytes], bytes]:
    """The function for decimals: `confluent.type.Decimal`."""
    tail = numbered(3, scale)

    def written(unscaled: bytes) -> bytes:
        if not unscaled:
            raise ValueError("a decimal has no bytes")
        number = int.from_bytes(unscaled, "big", signed=True)
        size = (number if number >= 0 else ~number).bit_length() // 8 + 1
        if size != len(unscaled):
            unscaled = number.to_bytes(size, "big", signed=True)
        digits = len(str(abs(number)))
        if digits < SMALL:
            return _SIZES[size] + unscaled + _DIGITS[digits] + tail
        return key(1, 2) + integer(size) + unscaled + numbered(2, digits) + tail

    return written


@lru_cache(4096)
def date(days: int) -> bytes:
    """`google.type.Date` of days since 1970-01-01.

    Raises:
        ValueError: it is before year 1.
    """
    if days >= _FIRST_GREGORIAN_DAY:
        era, day = divmod(days + _TO_MARCH, 146_097)
        of_era = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
        day -= 365 * of_era + of_era // 4 - of_era // 100
        year = era * 400 + of_era
    else:
        era, day = divmod(days + _TO_MARCH + 2, 1461)
        of_era = (day - day // 1460) // 365
        day -= 365 * of_era
        year = era * 4 + of_era
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5 - 1
    month, year = (month + 3, year) if month < 10 else (month - 9, year + 1)
    if year < 1:
        raise ValueError("a date before year 1 cannot be written in Protobuf")
    return numbered(1, year) + numbered(2, month) + numbered(3, day)


def time(millis: int) -> bytes:
    """`google.type.TimeOfDay` of milliseconds past midnight.

    Raises:
        ValueError: it is none of a day.
    """
    if not 0 <= millis <= _MILLIS_A_DAY:
        raise ValueError("a time is not within a day")
    seconds, millis = divmod(millis % _MILLIS_A_DAY, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return numbered(1, hours) + numbered(2, minutes) + numbered(3, seconds) + numbered(4, millis * 1_000_000)


def timestamp(millis: int) -> bytes:
    """`google.protobuf.Timestamp` of milliseconds since 1970-01-01T00:00:00Z.

    Raises:
        ValueError: it is before year 1 or after year 9999.
    """
    seconds, millis = divmod(millis, 1000)
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise ValueError("a timestamp is not within the years 1 to 9999")
    return numbered(1, seconds) + numbered(2, millis * 1_000_000)
