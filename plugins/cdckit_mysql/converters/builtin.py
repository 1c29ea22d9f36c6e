"""The converters that Debezium's connectors bring, by their names here and by Debezium's class names."""

from __future__ import annotations

from functools import cache
from typing import Any

from cdckit import ColumnConverter, ColumnDescription, PluginConfig
from cdckit_mysql.converters.jdbc_sink_data_types import JdbcSinkDataTypesConfig, jdbc_sink_data_types
from cdckit_mysql.converters.tiny_int_one_to_boolean import TinyIntOneToBooleanConfig, tiny_int_one_to_boolean
from cdckit_mysql.converters.zero_date_fallback import ZeroDateFallbackConfig, zero_date_fallback

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
