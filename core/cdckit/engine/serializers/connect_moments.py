"""The moments that integers of Kafka Connect's dates, times and timestamps hold, in whatever year."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cdckit import logical
from cdckit.api.schema import Schema

DAY_MS = 86_400_000
_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400
"""After so many days, which are whole weeks, the calendar repeats itself."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def connect_milliseconds(schema: Schema | None, value: int) -> int | None:
    """How many milliseconds since 1970 an integer stands for; None where its schema says nothing of time."""
    name = None if schema is None else schema.name
    if name == logical.CONNECT_DATE.name:
        return value * DAY_MS
    return value if name in (logical.CONNECT_TIME.name, logical.CONNECT_TIMESTAMP.name) else None


def date_and_year(milliseconds: int) -> tuple[datetime, int]:
    """The moment, put into a year from 1970 on that Python knows and that has the same days, and its own year."""
    days, of_day = divmod(milliseconds, DAY_MS)
    cycles, day = divmod(days, _CYCLE_DAYS)
    date = _EPOCH + timedelta(days=day, milliseconds=of_day)
    return date, date.year + cycles * _CYCLE_YEARS
