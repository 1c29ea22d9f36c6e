"""The converters that a configuration names, asked of all plugins for each column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cdckit import ColumnConverter, ColumnDescription, ConfigError, Schema, split_names
from cdckit.connector.chosen_by_plugin import column_converter, converter_types
from cdckit_mysql.table import Column, TableId


@dataclass(frozen=True, slots=True)
class ConverterOptions:
    """One name of `converters`.

    Attributes:
        name: the name.
        type_name: what stands behind `NAME.type`.
        options: the other options, without the name.
    """

    name: str
    type_name: str
    options: dict[str, str]


def converter_options(names: str, given: Mapping[str, str]) -> list[ConverterOptions]:
    """The converters of a configuration, in order.

    Args:
        names: the option `converters`.
        given: the options that begin with one of these names.

    Raises:
        ValueError: one has no type, or one that no installed plugin knows.
    """
    return [_one(name, given) for name in split_names(names)]


def _one(name: str, given: Mapping[str, str]) -> ConverterOptions:
    own = {key.removeprefix(f"{name}."): value for key, value in given.items() if key.startswith(f"{name}.")}
    type_name = own.pop("type", "")
    if not type_name:
        raise ValueError(f"converters names '{name}', but '{name}.type' is not given")
    if type_name not in converter_types():
        raise ValueError(
            f"{name}.type: no installed plugin has a converter '{type_name}' (there are "
            f"{', '.join(sorted(converter_types()))}); Java classes cannot be loaded here: write the converter as a "
            "plugin with the hook cdckit_converter (docs/writing-a-plugin.md)"
        )
    return ConverterOptions(name, type_name, own)


class Converters:
    """Finds the converter of a column: the first of those named that wants it."""

    def __init__(self, configured: list[ConverterOptions]) -> None:
        self._configured = configured

    def of(self, table: TableId, column: Column, schema: Schema) -> ColumnConverter | None:
        """The converter of a column which would have `schema`, or None.

        Raises:
            ConfigError: an option of a converter cannot be understood.
        """
        if not self._configured:
            return None
        described = _description(table, column, schema)
        return next(filter(None, (_asked(one, described) for one in self._configured)), None)


def _asked(one: ConverterOptions, column: ColumnDescription) -> ColumnConverter | None:
    try:
        return column_converter(one.type_name, one.options, column)
    except ConfigError as error:
        raise ConfigError(*(f"source.{one.name}.{problem}" for problem in error.problems)) from error


def _description(table: TableId, column: Column, schema: Schema) -> ColumnDescription:
    return ColumnDescription(
        data_collection=str(table),
        name=column.name,
        type_name=column.type_name,
        length=column.length,
        scale=column.scale,
        optional=column.optional,
        has_default=column.has_default,
        default=column.default,
        charset=column.charset,
        schema=schema,
    )
