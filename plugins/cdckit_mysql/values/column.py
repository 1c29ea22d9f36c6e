"""What a column is in an event: its schema, and what the row decoders must know to make its values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cdckit import ColumnConverter, DecodeError, Schema
from cdckit_mysql.table import Column, TableId
from cdckit_mysql.values.conversion_failures import ConversionFailures, Guard
from cdckit_mysql.values.defaults import schema_default, value_for_null
from cdckit_mysql.values.key_dates import NO_DATE, KeyDates
from cdckit_mysql.values.kinds import Kind, kind_of, spelled_boolean
from cdckit_mysql.values.mapping import ColumnMapping, Convert
from cdckit_mysql.values.numbers import BINARY_FORMS
from cdckit_mysql.values.options import ValueOptions
from cdckit_mysql.values.schemas import base_schema
from cdckit_mysql.values.stored import converted, stored

_PARAMETER = "__debezium.source.column."
_NUMBERS = frozenset({"integer", "bigint", "float32", "float64", "decimal", "boolean", "bits", "year"})
"""Kinds of which every value can be shown."""
_PLACEHOLDER_KINDS = frozenset({"text", "bytes", "json", "uuid", "inet4", "inet6"})


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValue:
    """A column with everything that its values depend on.

    Attributes:
        column: its definition.
        kind: how its values are read.
        schema: the field's schema, with default and parameters.
        options: the modes that its values are shown in.
        null: what SQL's NULL is shown as: None, or the default or zero where the schema allows no null.
        absent: what is shown for a column that a row image does not carry.
        convert: what is done to a value that is read: the user's converter, and what cuts or masks it; None without.
        mask: what cuts or masks the values of a key's column where events show them: the key has them as they are.
        native: the schema that values have before `convert`; the same as `schema` without it.
        native_null: what stands, before `convert`, for a value that cannot be shown.
        guard: shows `null` for values that do not fit, where the user wants that; None stops at them.
        in_key: whether it is a part of the records' key.
        key_dates: looks at the dates of a key's column; None: it has none.
    """

    column: Column
    kind: Kind
    schema: Schema
    options: ValueOptions
    null: Any
    absent: Any
    convert: Convert | None
    mask: Convert | None
    native: Schema
    native_null: Any
    guard: Guard | None = None
    in_key: bool = False
    key_dates: KeyDates | None = None

    @property
    def identifies(self) -> bool:
        """Whether it is a key's column that allows no NULL: one in the log is damage."""
        return self.in_key and not self.column.optional


def column_value(column: Column, options: ValueOptions, table: TableId, *, in_key: bool = False) -> ColumnValue:
    """Work out a column's schema and values.

    Args:
        column: its definition.
        options: the modes.
        table: the table it is of, for the options that choose columns by name.
        in_key: whether it is part of the records' key.

    Raises:
        DecodeError: its type is not known, or its default is no value of its type.
    """
    kind = kind_of(column)
    if kind is None:
        raise DecodeError(
            f"column {column.name} of {table}: type {column.type_name} is not known; exclude the column",
            number="CDC5106",
        )
    try:
        native = _native_schema(column, kind, options, table)
    except DecodeError as error:
        raise DecodeError(f"{table}: {error}") from error
    plain = ColumnValue(
        column=column,
        kind=kind,
        schema=native,
        options=options,
        null=value_for_null(kind, native),
        absent=_absent(kind, native, options),
        convert=None,
        mask=None,
        native=native,
        native_null=value_for_null(kind, native),
        in_key=in_key,
    )
    converter = options.converter(table, column, native)
    shown = plain if converter is None else _converted(plain, converter)
    mapping = options.mapping(table, column)
    shown = shown if mapping is None else _mapped(shown, mapping, in_key=in_key)
    return shown if options.failures is None else _guarded(shown, options.failures, table)


def telling_dates(value: ColumnValue, table: TableId, met: set[str]) -> ColumnValue:
    """A column of a key that stops at dates which would be shown as others are.

    Args:
        value: the column.
        table: its table.
        met: which of these dates were met.
    """
    lenient = value.options.invalid_dates == "epoch"
    dates = KeyDates(f"{table}.{value.column.name}", value.native_null, met, lenient=lenient)
    return replace(value, native_null=NO_DATE, key_dates=dates)


def _converted(value: ColumnValue, converter: ColumnConverter) -> ColumnValue:
    native = value.native
    convert = _naming_column(converter.convert, value.column.name)
    if converter.takes_null:
        readable = native.replace(optional=True, default=None)
        options = replace(value.options, zero_timestamps=False)  # null to begin with
        null = convert(None)
    else:
        readable, options = native, value.options
        convert = _sparing_null(convert) if native.optional else convert
        null = convert(value.null)
    schema = _converted_schema(native, converter)
    return replace(
        value, schema=schema, options=options, null=null, absent=None, convert=convert, native=readable,
        native_null=value_for_null(value.kind, readable),
    )  # fmt: skip


def _naming_column(convert: Convert, column: str) -> Convert:
    """A user's function; what it raises names the column."""

    def converted(value: Any) -> Any:
        try:
            return convert(value)
        except Exception as error:
            raise DecodeError(
                f"the converter of column {column}: {type(error).__name__}: {error}", number="CDC5107"
            ) from error

    return converted


def _guarded(value: ColumnValue, failures: ConversionFailures, table: TableId) -> ColumnValue:
    if value.convert is None and value.kind in _NUMBERS:
        return value
    return replace(value, guard=failures.guard(table, value.column.name, value.null))


def _sparing_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _mapped(value: ColumnValue, mapping: ColumnMapping, *, in_key: bool) -> ColumnValue:
    schema = value.schema
    parameters = {**(schema.parameters or {}), **mapping.parameters(value.column)}
    value = replace(value, schema=schema.replace(parameters=parameters or None))
    mask = mapping.function(value.column, value.kind, schema)
    if mask is None or in_key:
        return replace(value, mask=mask)
    masked = value.schema.replace(stored=converted(value.schema.stored, mask))
    return replace(value, schema=masked, null=mask(value.null), convert=_one_after_the_other(value.convert, mask))


def _one_after_the_other(first: Convert | None, second: Convert) -> Convert:
    return second if first is None else lambda value: second(first(value))


def _native_schema(column: Column, kind: Kind, options: ValueOptions, table: TableId) -> Schema:
    base = base_schema(column, kind, options)
    parameters = dict(base.parameters or {})
    mapping = options.mapping(table, column)
    if options.propagates_type(table, column) and (mapping is None or mapping.keeps_type):
        parameters.update(_source_parameters(column, options))
    nullable = column.optional or kind == "geometry"  # Debezium's schema of geometries is
    optional = nullable or not (options.complete_images or kind in _PLACEHOLDER_KINDS)
    return base.replace(
        optional=optional,
        default=schema_default(column, kind, base, options),
        parameters=parameters or None,
        doc=(column.comment if options.documents else None) or base.doc,
        stored=stored(column, kind, base, options),
    )


def _source_parameters(column: Column, options: ValueOptions) -> dict[str, str]:
    parameters = {_PARAMETER + "type": column.type_expression.upper()}
    if column.length is not None and not spelled_boolean(column):
        parameters[_PARAMETER + "length"] = str(column.length)
    if column.scale is not None:
        parameters[_PARAMETER + "scale"] = str(column.scale)
    if options.comments and column.comment:
        parameters[_PARAMETER + "comment"] = column.comment
    if options.names_columns:
        parameters[_PARAMETER + "name"] = column.name
    return parameters


def _converted_schema(native: Schema, converter: ColumnConverter) -> Schema:
    """The converter's schema with what the column adds: whether null is allowed, parameters, the default converted."""
    schema = converter.schema
    default = None if native.default is None else converter.convert(native.default)
    parameters = {**(native.parameters or {}), **(schema.parameters or {})} if native.parameters else schema.parameters
    return schema.replace(
        optional=schema.optional or native.optional,
        default=schema.default if default is None else default,
        parameters=parameters,
        stored=converted(native.stored, converter.convert),
    )


def _absent(kind: Kind, schema: Schema, options: ValueOptions) -> Any:
    if kind not in _PLACEHOLDER_KINDS:
        return None
    if kind == "bytes":
        return BINARY_FORMS[options.binary_mode](options.unavailable_value.encode())
    return options.unavailable_value
