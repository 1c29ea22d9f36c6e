"""What Delta's log says of a data file's rows: how many, and of columns the least and greatest value and the nulls.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#per-file-statistics; readers leave out files by it, so that
every value has to lie between the two. Bounds need not be values: texts are cut, and times are whole milliseconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.tables.delta.files import INDEXED

_LETTERS = 32
"""So much of a text is told."""
_LAST = "\U0010ffff"
"""No letter is greater."""
_FIRST_DAY, _LAST_DAY = date.min.toordinal(), date.max.toordinal()
_DAYS = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1)
_FIRST_MS, _LAST_MS = ((moment - _EPOCH) // timedelta(milliseconds=1) for moment in (datetime.min, datetime.max))

Told = Callable[[Any, bool], str | None]
"""A bound as JSON, whether it is the upper one being said; None: it cannot be told."""


class Statistics:
    """Those of one file.

    Args:
        schema: of its rows.
        columns: of how many of them, the first ones, values are looked at; less than 0: of all.
    """

    def __init__(self, schema: pa.Schema, columns: int = INDEXED) -> None:
        wanted = list(schema) if columns < 0 else list(schema)[:columns]
        self._columns = [_Column(each) for each in wanted if not pa.types.is_nested(each.type)]
        self.rows = 0

    def take(self, rows: pa.Table) -> None:
        """Looks at more rows."""
        self.rows += rows.num_rows
        for column in self._columns:
            column.take(rows.column(column.name))

    def dumps(self) -> str:
        """The text that the log has."""
        parts = {
            "minValues": _object((one.name, one.bound(upper=False)) for one in self._columns),
            "maxValues": _object((one.name, one.bound(upper=True)) for one in self._columns),
            "nullCount": _object((one.name, str(one.nulls)) for one in self._columns),
        }
        return f'{{"numRecords":{self.rows},{",".join(f"{_text(name)}:{text}" for name, text in parts.items())}}}'


class _Column:
    def __init__(self, column: pa.Field) -> None:
        self.name: str = column.name
        self.nulls = 0
        self._told = _teller(column.type)
        self._least: Any = None
        self._greatest: Any = None
        self._float = bool(pa.types.is_floating(column.type))

    def take(self, values: pa.ChunkedArray) -> None:
        self.nulls += values.null_count
        if self._told is None or values.null_count == len(values):
            return
        if self._float and pc.any(pc.is_nan(values)).as_py():
            self._told = None  # it is greater than any number to some, and not to others
            return
        found = pc.min_max(values)
        least, greatest = _plain(found["min"]), _plain(found["max"])
        self._least = least if self._least is None else min(self._least, least)
        self._greatest = greatest if self._greatest is None else max(self._greatest, greatest)

    def bound(self, *, upper: bool) -> str | None:
        value = self._greatest if upper else self._least
        return None if value is None or self._told is None else self._told(value, upper)


def _plain(value: pa.Scalar) -> Any:
    """A value that Python compares; moments, which need not lie in Python's range, as numbers."""
    return value.value if pa.types.is_temporal(value.type) else value.as_py()


def _teller(kind: pa.DataType) -> Told | None:
    """How bounds of a type are written; None: there are none of it."""
    if pa.types.is_timestamp(kind):
        return _instant if kind.tz is not None else _reading
    if pa.types.is_date(kind):
        return _day
    if pa.types.is_string(kind):
        return _cut
    if pa.types.is_floating(kind):
        return _fraction
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return lambda value, _upper: f"{value:f}" if pa.types.is_decimal(kind) else str(value)
    return None


def _fraction(value: float, _upper: bool) -> str | None:
    return repr(value) if math.isfinite(value) else None


def _cut(value: str, upper: bool) -> str | None:
    if len(value) <= _LETTERS or not upper:
        return _text(value[:_LETTERS])
    # Behind the cut comes a letter that is greater than whatever others with the same begin have there.
    return None if value[_LETTERS] == _LAST else _text(value[:_LETTERS] + _LAST)


def _day(value: int, _upper: bool) -> str | None:
    ordinal = value + _DAYS
    return _text(date.fromordinal(ordinal).isoformat()) if _FIRST_DAY <= ordinal <= _LAST_DAY else None


def _reading(value: int, upper: bool) -> str | None:
    """A moment in whole milliseconds; the upper one is not before the value, whatever a reader makes of it."""
    moment = _moment(value, upper)
    return None if moment is None else _text(moment.isoformat(timespec="milliseconds"))


def _instant(value: int, upper: bool) -> str | None:
    moment = _moment(value, upper)
    return None if moment is None else _text(moment.isoformat(timespec="milliseconds") + "Z")


def _moment(micros: int, upper: bool) -> datetime | None:
    ms = -(-micros // 1000) if upper else micros // 1000
    return _EPOCH + timedelta(milliseconds=ms) if _FIRST_MS <= ms <= _LAST_MS else None


def _object(members: Iterator[tuple[str, str | None]]) -> str:
    return f"{{{','.join(f'{_text(name)}:{text}' for name, text in members if text is not None)}}}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
