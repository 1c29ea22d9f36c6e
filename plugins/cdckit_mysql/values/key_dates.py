"""Dates in keys that events would show alike: those with zeros in them, and the date that stands for these.

A column that allows no null shows `0000-00-00` and `2024-00-00` as 1970-01-01, or as its default, as Debezium does. For
the server they are different keys; for who keeps a row by its key they would be one row.
"""

from __future__ import annotations

import logging
from typing import Any

from cdckit import DecodeError
from cdckit_mysql.values.temporal import Civil

log = logging.getLogger("cdckit.mysql")

_REMEDY = (
    "Correct the rows at the source, choose a key without this column (message.key.columns), leave the table out "
    "(table.exclude.list), or set event.deserialization.failure.handling.mode=warn to let such rows be one"
)
NO_DATE = object()
"""What stands for 0000-00-00 until `shown` has seen it."""
_ZERO, _SAME = "0000-00-00", "1970-01-01, or the column's default"


class KeyDates:
    """Looks at the values of one column of a key.

    Args:
        column: its name, with the table's.
        instead: what a date with zeros is shown as.
        met: which of the dates that are shown so were met; several definitions of the table share it.
        lenient: whether such rows are to be one.
    """

    def __init__(self, column: str, instead: Any, met: set[str], *, lenient: bool) -> None:
        self._column = column
        self._instead = instead
        self._met = met
        self._lenient = lenient

    def check(self, day: Civil) -> None:
        """Takes a date with zeros.

        Raises:
            DecodeError: it has other parts than zeros, and is shown as 0000-00-00 is.
        """
        if any(day):
            self._meet("{:04}-{:02}-{:02}".format(*day), _ZERO)

    def shown(self, value: Any) -> Any:
        """What a value is shown as.

        Raises:
            DecodeError: another one, which was met before, is shown so.
        """
        if value is NO_DATE:
            if _ZERO not in self._met:
                self._meet(_ZERO, _SAME, _SAME)
            return self._instead
        if value == self._instead and _SAME not in self._met:
            self._meet(_SAME, _ZERO, _ZERO)
        return value

    def _meet(self, date: str, other: str, refused: str | None = None) -> None:
        told = f"{self._column} is a part of the key and has {date}, which is shown as {other} is"
        if (refused is None or refused in self._met) and not self._lenient:
            raise DecodeError(f"{told}: rows with different keys would become one. {_REMEDY}", number="CDC5108")
        if date not in self._met:
            self._met.add(date)
            log.warning("%s: in a table that is kept by this key, two such rows would be one", told)
