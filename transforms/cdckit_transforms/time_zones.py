"""Moments of change events in another time zone, as Debezium's TimezoneConverter has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cdckit import Schema, logical

Convert = Callable[[Any], Any]

_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)(?::(\d\d))?")
_TIME = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
_ZONE = r"(Z|[+-]\d\d:\d\d(?::\d\d)?)"
_MOMENT = re.compile(rf"(\d{{4}})-(\d\d)-(\d\d)[Tt]{_TIME}{_ZONE}", re.IGNORECASE)
_OF_DAY = re.compile(rf"{_TIME}{_ZONE}", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1)
_FIRST = round((datetime(1, 1, 2) - _EPOCH).total_seconds())
_LAST_CYCLE = round((datetime(9000, 1, 1) - _EPOCH).total_seconds())
_CYCLE = 146_097 * 86_400
"""After so many seconds, 400 years, the calendar and its days of the week repeat themselves."""
_UNITS = {
    logical.TIMESTAMP.name: 1_000,
    logical.MICRO_TIMESTAMP.name: 1_000_000,
    logical.NANO_TIMESTAMP.name: 1_000_000_000,
    logical.CONNECT_TIMESTAMP.name: 1_000,
}
"""How many of their units make a second."""
_SOURCE_UNITS = {"ts_ms": 1_000, "ts_us": 1_000_000, "ts_ns": 1_000_000_000}
UNSUPPORTED = frozenset(
    schema.name
    for schema in (
        logical.DATE, logical.MILLI_TIME, logical.MICRO_TIME, logical.NANO_TIME, logical.CONNECT_DATE,
        logical.CONNECT_TIME,
    )
)  # fmt: skip
"""Days and times of day, which have no zone."""


def zone_of(text: str) -> tzinfo:
    """The zone of a name, such as `Europe/Berlin`, or of an offset, `+08:00`.

    Raises:
        ValueError: there is none.
    """
    if found := _OFFSET.fullmatch(text):
        return timezone(timedelta(seconds=_offset_seconds(found)))
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"'{text}' is no time zone such as Europe/Berlin, and no offset such as +08:00") from error


def _offset_seconds(found: re.Match[str]) -> int:
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:4])
    if hours > 18 or minutes > 59 or seconds > 59:
        raise ValueError(f"'{found[0]}' is no offset: up to 18 hours are")
    size = (hours * 60 + minutes) * 60 + seconds
    return -size if found[1] == "-" else size


def converting(schema: Schema, zone: tzinfo) -> Convert | None:
    """What converts a field's values that are not null; None where it holds no moments.

    It raises `ValueError` where a text is no moment.
    """
    if schema.name == logical.ZONED_TIMESTAMP.name:
        return lambda text: _moment_elsewhere(text, zone)
    if schema.name == logical.ZONED_TIME.name:
        return lambda text: _time_elsewhere(text, zone)
    unit = _UNITS.get(schema.name)
    if unit is None:
        return None
    return lambda value: value - _offset(zone, value // unit) * unit


def converting_of_source(name: str, schema: Schema, zone: tzinfo) -> Convert | None:
    """The same for a field of the source block, whose times are known by their names."""
    unit = _SOURCE_UNITS.get(name)
    if unit is None or schema.name is not None:
        return converting(schema, zone)
    return lambda value: value + _offset_at(zone, value // unit) * unit


def _offset(zone: tzinfo, clock: int) -> int:
    """What a zone adds to UTC in seconds, when its own clocks show so many seconds since 1970."""
    offset = zone.utcoffset(_clock(clock).replace(tzinfo=zone))
    return 0 if offset is None else round(offset.total_seconds())


def _offset_at(zone: tzinfo, seconds: int) -> int:
    """The same so many seconds after 1970 began in UTC."""
    offset = _clock(seconds).replace(tzinfo=UTC).astimezone(zone).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())


def _clock(seconds: int) -> datetime:
    """A moment that Python can tell, at which zones do what they do so many seconds after 1970 began."""
    if seconds >= _LAST_CYCLE:
        seconds = _LAST_CYCLE + (seconds - _LAST_CYCLE) % _CYCLE
    return _EPOCH + timedelta(seconds=max(seconds, _FIRST))


def _moment_elsewhere(text: str, zone: tzinfo) -> str:
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no moment by ISO 8601 with its zone")
    year, month, day, hour, minute, second, fraction, offset = found.groups()
    clock = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0))
    seconds = round((clock - _EPOCH).total_seconds())
    there = _offset(zone, seconds)
    moved = _EPOCH + timedelta(seconds=seconds - _given_offset(offset) + there)
    return f"{moved.isoformat(timespec='seconds')}{_fraction(fraction)}{_offset_text(there)}"


def _time_elsewhere(text: str, zone: tzinfo) -> str:
    """By what the zone adds to UTC today."""
    found = _OF_DAY.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no time by ISO 8601 with its zone")
    hour, minute, second, fraction, offset = found.groups()
    seconds = (int(hour) * 60 + int(minute)) * 60 + int(second or 0)
    there = _offset_at(zone, round(datetime.now(UTC).timestamp()))
    moved = (seconds - _given_offset(offset) + there) % 86_400
    clock = f"{moved // 3600:02d}:{moved // 60 % 60:02d}:{moved % 60:02d}"
    return f"{clock}{_fraction(fraction)}{_offset_text(there)}"


def _given_offset(text: str) -> int:
    found = _OFFSET.fullmatch(text)
    return 0 if found is None else _offset_seconds(found)


def _fraction(digits: str | None) -> str:
    kept = (digits or "").rstrip("0")
    return f".{kept}" if kept else ""


def _offset_text(seconds: int) -> str:
    if not seconds:
        return "Z"
    size = abs(seconds)
    rest = f":{size % 60:02d}" if size % 60 else ""
    return f"{'-' if seconds < 0 else '+'}{size // 3600:02d}:{size // 60 % 60:02d}{rest}"
