"""What is known of a column besides what its events show: for sinks that keep tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cdckit import DecodeError, Schema, Stored
from cdckit_mysql.table import Column
from cdckit_mysql.values.defaults import implicit_default, schema_default
from cdckit_mysql.values.kinds import Kind
from cdckit_mysql.values.options import ValueOptions

_AS_WRITTEN = frozenset({"text", "set", "json"})
_SIGN = 1 << 63


def stored(column: Column, kind: Kind, schema: Schema, options: ValueOptions) -> Stored | None:
    """What is known, or None where that is nothing.

    Args:
        column: its definition.
        kind: how its values are read.
        schema: its schema as far as the type decides it.
        options: the modes that its values are shown in.
    """

    def value(text: str | None) -> Any:
        return None if text is None else _value(column, text, kind, schema, options)

    older = value(column.older)
    known = Stored(
        unsigned=kind == "bigint" and column.unsigned,
        default=value(_literal_default(column)),
        older=older,
        older_unknown=column.older_unknown or (column.older is not None and older is None),
        comment=column.comment,
        zero_is_epoch=kind == "timestamp" and options.zero_timestamps,
    )
    return None if known == Stored() else known


def _literal_default(column: Column) -> str | None:
    """What an INSERT puts that gives no value, where that is the same for every row."""
    if column.default_is_expression or column.generated or column.auto_incremented:
        return None
    return column.default if column.has_default or column.optional else implicit_default(column)


def _value(column: Column, text: str, kind: Kind, schema: Schema, options: ValueOptions) -> Any:
    """A text in the form of the schema, or None where it is no value of the type."""
    if kind in _AS_WRITTEN:
        return text
    if kind == "enum":
        return text.replace(",", "\\,")  # as rows show labels, though the schema's default does not
    if kind == "bigint" and schema.type == "int64" and text.isdecimal():
        number = int(text)
        return number - 2 * _SIGN if number >= _SIGN else number
    written = replace(column, has_default=True, default=text, default_is_expression=False)
    try:
        return schema_default(written, kind, schema, options)
    except DecodeError:
        return None


def converted(known: Stored | None, convert: Callable[[Any], Any]) -> Stored | None:
    """What is known of a column whose values are converted or masked."""
    if known is None:
        return None
    default = None if known.default is None else convert(known.default)
    older = None if known.older is None else convert(known.older)
    unknown = known.older_unknown or (known.older is not None and older is None)
    return Stored(default=default, older=older, older_unknown=unknown, comment=known.comment)
