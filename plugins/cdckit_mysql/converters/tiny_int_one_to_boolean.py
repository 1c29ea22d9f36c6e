"""TINYINT(1) as a boolean: Debezium's `TinyIntOneToBooleanConverter`."""

from __future__ import annotations

from cdckit import BOOLEAN, ColumnConverter, ColumnDescription, PluginConfig, RegexList
from cdckit.connector.include_lists import Matcher

_TYPES = ("TINYINT", "TINYINT UNSIGNED")


class TinyIntOneToBooleanConfig(PluginConfig):
    """Which columns become booleans."""

    selector: RegexList = ""
    """Columns: regular expressions that match a whole `database.table.column`; by default all."""
    length_checker: bool = True
    """Whether only columns of the length 1 do; newer servers keep no length of `TINYINT(1) UNSIGNED`."""


class ToBoolean(ColumnConverter):
    """Every number but 0 is true."""

    def convert(self, value: int) -> bool:
        """Whether the number is another than 0."""
        return value != 0


def tiny_int_one_to_boolean(config: TinyIntOneToBooleanConfig, column: ColumnDescription) -> ColumnConverter | None:
    """The converter of a column, or None where it is none of those chosen."""
    if column.type_name not in _TYPES or (config.length_checker and column.length != 1):
        return None
    selects = Matcher(config.selector)
    chosen = not selects or selects(f"{column.data_collection}.{column.name}")
    return ToBoolean(BOOLEAN) if chosen else None
