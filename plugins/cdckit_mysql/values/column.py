"""What a column is in an event: its schema, and what the row decoders must know to make its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdckit.errors import DecodeError
from cdckit.hookspecs import ColumnConverter
from cdckit.schema import Schema
from cdckit_mysql.table import Column, TableId
from cdckit_mysql.values.defaults import schema_default, value_for_null
from cdckit_mysql.values.numbers import BINARY_FORMS
from cdckit_mysql.values.options import ValueOptions
from cdckit_mysql.values.schemas import Kind, base_schema, kind_of

_PARAMETER = "__debezium.source.column."
_PLACEHOLDER_KINDS = frozenset({"text", "bytes", "json", "uuid", "inet4", "inet6"})


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValue:
    """A column with everything that its values depend on.

    Attributes:
        column: its definition.
        kind: how its values are read.
        schema: the field's schema, with default and propagated parameters.
        options: the modes that its values are shown in.
        null: what SQL's NULL is shown as: None, or the default or zero where the schema allows no null.
        absent: what is shown for a column that a row image does not carry.
        converter: the user's converter, or None.
        native: the schema that values have before the converter; the same as `schema` without one.
    """

    column: Column
    kind: Kind
    schema: Schema
    options: ValueOptions
    null: Any
    absent: Any
    converter: ColumnConverter | None
    native: Schema


def column_value(column: Column, options: ValueOptions, table: TableId) -> ColumnValue:
    """Work out a column's schema and values.

    Args:
        column: its definition.
        options: the modes.
        table: the table it is of, for the options that choose columns by name.

    Raises:
        DecodeError: its type is not known, or its default is no value of its type.
    """
    kind = kind_of(column)
    if kind is None:
        raise DecodeError(f"column {column.name} of {table}: type {column.type_name} is not known; exclude the column")
    try:
        native = _native_schema(column, kind, options, table)
    except DecodeError as error:
        raise DecodeError(f"{table}: {error}") from error
    converter = options.converter(table, column)
    schema = native if converter is None else _converted_schema(native, converter)
    return ColumnValue(
        column=column,
        kind=kind,
        schema=schema,
        options=options,
        null=value_for_null(kind, native) if converter is None else _converted_null(kind, native, schema, converter),
        absent=_absent(kind, schema, options) if converter is None else None,
        converter=converter,
        native=native,
    )


def _native_schema(column: Column, kind: Kind, options: ValueOptions, table: TableId) -> Schema:
    base = base_schema(column, kind, options)
    parameters = dict(base.parameters or {})
    if options.propagates_type(table, column):
        parameters.update(_source_parameters(column, options))
    optional = column.optional or not (options.complete_images or kind in _PLACEHOLDER_KINDS)
    return base.replace(
        optional=optional,
        default=schema_default(column, kind, base, options),
        parameters=parameters or None,
        doc=(column.comment if options.comments else None) or base.doc,
    )


def _source_parameters(column: Column, options: ValueOptions) -> dict[str, str]:
    parameters = {_PARAMETER + "type": column.type_expression.upper()}
    if column.length is not None:
        parameters[_PARAMETER + "length"] = str(column.length)
    if column.scale is not None:
        parameters[_PARAMETER + "scale"] = str(column.scale)
    if options.comments and column.comment:
        parameters[_PARAMETER + "comment"] = column.comment
    return {**parameters, _PARAMETER + "name": column.name}


def _converted_schema(native: Schema, converter: ColumnConverter) -> Schema:
    """The converter's schema with what the column adds: whether null is allowed, parameters, the default converted."""
    schema = converter.schema
    default = None if native.default is None else converter.convert(native.default)
    parameters = {**(native.parameters or {}), **(schema.parameters or {})} if native.parameters else schema.parameters
    return schema.replace(
        optional=schema.optional or native.optional,
        default=schema.default if default is None else default,
        parameters=parameters,
    )


def _converted_null(kind: Kind, native: Schema, schema: Schema, converter: ColumnConverter) -> Any:
    if schema.optional:
        return None
    return schema.default if schema.default is not None else converter.convert(value_for_null(kind, native))


def _absent(kind: Kind, schema: Schema, options: ValueOptions) -> Any:
    if kind not in _PLACEHOLDER_KINDS:
        return None
    if kind == "bytes":
        return BINARY_FORMS[options.binary_mode](options.unavailable_value.encode())
    return options.unavailable_value
