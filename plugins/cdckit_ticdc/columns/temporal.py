"""Dates and times as MySQL's texts, as values of Debezium's temporal schemas."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any

from cdckit import Schema, logical

Read = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_TIME = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_MICROSECOND = timedelta(microseconds=1)
_KEPT = 65536


def dates(schema: Schema) -> Read:
    """Reads a DATE as days since 1970; a date that does not exist (`0000-00-00`) is null, or 0 where null is none."""
    instead = None if schema.optional else 0

    @lru_cache(_KEPT)
    def read_date(text: str) -> int | None:
        return instead if _is_zero(text) else date.fromisoformat(text).toordinal() - _EPOCH_DAY

    return read_date


def times(text: str) -> int:
    """Reads a TIME, which may be negative or beyond a day, as microseconds."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no time")
    sign, hours, minutes, seconds, fraction = found.groups()
    total = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1_000_000 + int((fraction or "").ljust(6, "0"))
    return -total if sign else total


def datetimes(schema: Schema) -> Read:
    """Reads a DATETIME as milliseconds or microseconds since 1970, taking the clock's reading for UTC's."""
    instead = None if schema.optional else 0
    divisor = 1000 if schema.name == logical.TIMESTAMP.name else 1

    def read_datetime(text: str) -> int | None:
        if _is_zero(text):
            return instead
        return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND // divisor

    return read_datetime


def timestamps(schema: Schema, zone: tzinfo) -> Read:
    """Reads a TIMESTAMP's text in a zone as ISO 8601 in UTC, its digits kept."""
    instead = None if schema.optional else "1970-01-01T00:00:00Z"

    @lru_cache(_KEPT)
    def read_timestamp(text: str) -> str | None:
        if _is_zero(text):
            return instead
        seconds, dot, fraction = text.partition(".")
        instant = datetime.fromisoformat(seconds).replace(tzinfo=zone).astimezone(UTC)
        return f"{instant:%Y-%m-%dT%H:%M:%S}{dot}{fraction}Z"

    return read_timestamp


def _is_zero(text: str) -> bool:
    """Whether a part of the date is zero, which no calendar has."""
    return text.startswith("0000") or "-00" in text[:10]
