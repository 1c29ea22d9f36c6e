"""Values of a row's key as SQL: read from the log in forms that say them exactly, whatever events show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cdckit import SourceError
from cdckit_mysql.table import Column, TableId
from cdckit_mysql.values import ColumnValue, ValueOptions, column_value
from cdckit_mysql.values.kinds import Kind, spelled_boolean

_EXACT = ValueOptions(decimal_mode="string", time_mode="isostring", binary_mode="hex")
_TIMES = replace(_EXACT, time_mode="microseconds")
_NOWHERE = TableId("", "")
_UNSIGNED = 1 << 64


class KeyColumn:
    """A column that rows are looked up by.

    Args:
        column: its definition.
    """

    def __init__(self, column: Column) -> None:
        self._column = column
        options = _TIMES if column.base_type == "TIME" else _EXACT
        self.value: ColumnValue = column_value(
            replace(column, optional=True, has_default=False, default=None, older=None), options, _NOWHERE
        )
        """How the column is read from the log."""

    def literal(self, value: Any) -> str:
        """A value that was read so, as SQL.

        Raises:
            SourceError: it does not tell which row is meant.
        """
        write = _LITERALS.get(self.value.kind)
        if write is None or spelled_boolean(self._column):
            raise SourceError(f"rows cannot be looked up by column {self._column.name} ({self._column.type_name})")
        if value is None:
            raise SourceError(f"column {self._column.name} of its key is null, or no date that there is")
        return f"{value + _UNSIGNED}" if self._column.unsigned and _is_negative(value) else write(value)


def _is_negative(value: Any) -> bool:
    """Whether a number is shown as one of 64 bits with a sign."""
    return isinstance(value, int) and value < 0


def _text(value: str) -> str:
    return f"_utf8mb4 X'{value.encode().hex()}'"


def _label(value: str) -> str:
    return _text(value.replace("\\,", ","))


def _moment(value: str) -> str:
    return f"'{value.removesuffix('Z')}'"


def _time(us: int) -> str:
    seconds, fraction = divmod(abs(us), 1_000_000)
    sign = "-" if us < 0 else ""
    return f"'{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}'"


def _bits(value: bytes) -> str:
    return str(int.from_bytes(value, "little"))


_LITERALS: dict[Kind, Callable[[Any], str]] = {
    "integer": str,
    "bigint": str,
    "year": str,
    "boolean": lambda value: str(int(value)),
    "bits": _bits,
    "decimal": str,
    "text": _text,
    "enum": _label,
    "set": _text,
    "uuid": _text,
    "inet4": _text,
    "inet6": _text,
    "bytes": lambda value: f"X'{value}'",
    "date": _moment,
    "datetime": _moment,
    "timestamp": _moment,
    "time": _time,
}
"""How values of each kind are written; numbers that are not exact tell no row."""
