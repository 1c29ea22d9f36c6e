"""Types that Debezium's JDBC sink writes well: Debezium's `JdbcSinkDataTypesConverter`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdckit import FLOAT32, FLOAT64, INT16, STRING, ColumnConverter, ColumnDescription, PluginConfig, RegexList, Schema
from cdckit.connector.include_lists import Matcher

_CHARSET = "__debezium.source.column.character_set"


class JdbcSinkDataTypesConfig(PluginConfig):
    """Which columns become which type."""

    selector_boolean: RegexList = ""
    """Columns that become int16, 1 for numbers above 0: regular expressions of a whole `database.table.column`."""
    selector_real: RegexList = ""
    """Columns that become float64."""
    selector_string: RegexList = ""
    """Columns that become a string whose schema tells the column's character set."""
    treat_real_as_double: bool = True
    """Whether `selector.real` makes float64; else it makes float32."""


class _Converted(ColumnConverter):
    """Values that a function makes."""

    def __init__(self, schema: Schema, function: Callable[[Any], Any]) -> None:
        super().__init__(schema)
        self._function = function

    def convert(self, value: Any) -> Any:
        """What the function makes of it."""
        return self._function(value)


def jdbc_sink_data_types(config: JdbcSinkDataTypesConfig, column: ColumnDescription) -> ColumnConverter | None:
    """The converter of a column, or None where it is none of those chosen."""
    name = f"{column.data_collection}.{column.name}"
    if Matcher(config.selector_boolean)(name):
        return _Converted(INT16, lambda value: int(int(value) > 0))
    if Matcher(config.selector_real)(name):
        return _Converted(FLOAT64 if config.treat_real_as_double else FLOAT32, float)
    if Matcher(config.selector_string)(name):
        parameters = {_CHARSET: column.charset} if column.charset else None
        return _Converted(STRING.replace(parameters=parameters), _text)
    return None


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
