"""What the rows of a table have in a column that ALTER TABLE adds to it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from cdckit_mysql.ddl.session import DdlSession
from cdckit_mysql.table import Column
from cdckit_mysql.values.implicit_defaults import implicit_default

_NOW = re.compile(r"(current_timestamp|now|localtime|localtimestamp)\d*", re.IGNORECASE)
"""The time of the statement, without parentheses and blanks."""
_AROUND = str.maketrans("", "", "() \t\r\n")
_OFFSET = re.compile(r"([+-])(\d{1,2}):(\d\d)")


def with_older(column: Column, session: DdlSession) -> Column:
    """A column that is added, with what the rows have in it that are there.

    Args:
        column: its definition.
        session: the variables of the session that added it.
    """
    if column.generated or column.auto_incremented:
        return replace(column, older_unknown=True)
    if column.default_is_expression:
        older = _now(column, session) if _NOW.fullmatch((column.default or "").translate(_AROUND)) else None
    elif column.has_default or column.optional:
        older = column.default
        if older is None:
            return column
        if column.base_type == "TIMESTAMP":
            older = _in_utc(older, _zone(session.time_zone))
    else:
        older = implicit_default(column)
    return replace(column, older=older, older_unknown=older is None)


def _now(column: Column, session: DdlSession) -> str | None:
    """When the statement began: in UTC for a TIMESTAMP, for others as the session's clock showed it."""
    zone = UTC if column.base_type == "TIMESTAMP" else _zone(session.time_zone)
    if session.now is None or zone is None or column.base_type not in ("TIMESTAMP", "DATETIME"):
        return None
    text = session.now.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S.%f")
    return text[: 20 + column.length] if column.length else text[:19]


def _in_utc(text: str, zone: tzinfo | None) -> str | None:
    """A TIMESTAMP's default, which a statement writes in the session's time zone."""
    if text.startswith("0000-00-00"):
        return text
    try:
        return None if zone is None else str(datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC))[:-6]
    except ValueError:
        return None


def _zone(name: str | None) -> tzinfo | None:
    """A session's time zone; None for the server's own (`SYSTEM`), which the log does not name."""
    if name is None or name == "SYSTEM":
        return None
    if offset := _OFFSET.fullmatch(name):
        size = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-size if offset[1] == "-" else size)
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return None
