"""The converters that Debezium's connectors bring, by their names here and by Debezium's class names.

`TinyIntOneToBooleanConverter` is written here, the larger ones beside.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from cdckit import BOOLEAN, ColumnConverter, ColumnDescription, PluginConfig, RegexList
from cdckit.connector.include_lists import Matcher
from cdckit_mysql.converters.jdbc_sink_data_types import JdbcSinkDataTypesConfig, jdbc_sink_data_types
from cdckit_mysql.converters.zero_date_fallback import ZeroDateFallbackConfig, zero_date_fallback

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


_CONVERTERS: dict[str, tuple[type[PluginConfig], Any]] = {
    "TinyIntOneToBooleanConverter": (TinyIntOneToBooleanConfig, tiny_int_one_to_boolean),
    "ZeroDateFallbackConverter": (ZeroDateFallbackConfig, zero_date_fallback),
    "JdbcSinkDataTypesConverter": (JdbcSinkDataTypesConfig, jdbc_sink_data_types),
}


def builtin_converter(name: str, options: dict[str, str], column: ColumnDescription) -> ColumnConverter | None:
    """The converter of a column, or None where there is none of that name or it does not want the column.

    Raises:
        ConfigError: an option of it cannot be understood.
    """
    found = _CONVERTERS.get(name)
    if found is None:
        return None
    model, make = found
    converter: ColumnConverter | None = make(_config(model, tuple(sorted(options.items()))), column)
    return converter


@cache
def _config(model: type[PluginConfig], options: tuple[tuple[str, str], ...]) -> PluginConfig:
    """The same options are asked about for each column."""
    config, _ = model.load(dict(options), "")
    return config
