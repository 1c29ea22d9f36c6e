"""Columns of Debezium's JSON: from the schema beside the row, TiDB's extension of it, or a definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cdckit import FLOAT64, INT64, STRING, Schema, logical
from cdckit.connector.connect_json.reader import schema_from_json
from cdckit_ticdc.columns import numbers
from cdckit_ticdc.columns.binary import BINARY_FORMS, from_base64
from cdckit_ticdc.columns.column import Column, Read
from cdckit_ticdc.columns.options import ColumnOptions
from cdckit_ticdc.columns.schemas import schema_of
from cdckit_ticdc.columns.seen import fitted, seen_schema
from cdckit_ticdc.columns.texts import vector
from cdckit_ticdc.columns.types import BINARY, MySqlType, parse_type

Written = Mapping[str, Any]


class DebeziumColumns:
    """Makes columns. A default in TiCDC's schemas is left out: what it stands for was put into the row already.

    Args:
        options: how columns are shown.
        unscaled: whether exact numbers are written as the bytes of their unscaled integer, as Debezium does, and not
            as numbers or texts.
    """

    def __init__(self, options: ColumnOptions, *, unscaled: bool = False) -> None:
        self._options = options
        self._unscaled = unscaled

    def written(self, table: tuple[str, str], written: Written, defined: MySqlType | None) -> Column:
        """A column that the message's schema describes, and perhaps a definition too.

        Raises:
            KeyError: the schema is none.
            ValueError: its type does not exist.
        """
        name = written["field"]
        plain = schema_from_json({key: value for key, value in written.items() if key != "default"})
        type = self._options.given_type(*table, name)
        if type is None and defined is not None:
            type = defined.declared
        if type is None and "tidb_type" in written:
            type = _extended(written["tidb_type"], written)
        if plain.name == logical.TIDB_VECTOR_NAME:
            type = MySqlType("vector")
        return self._column(name, plain.replace(optional=False), type, optional=plain.optional)

    def defined(self, table: tuple[str, str], name: str, type: MySqlType, *, optional: bool) -> Column:
        """A column that only a definition, or the user, describes.

        Raises:
            ValueError: its type does not exist.
        """
        type = self._options.given_type(*table, name) or type.declared
        return self._column(name, None, type, optional=optional)

    def inferred(self, table: tuple[str, str], name: str, values: list[Any]) -> Column | None:
        """A column of which only values were seen: int64, double, boolean, string, a struct or an array.

        None where all values are null.

        Raises:
            ValueError: no one type fits all values.
        """
        type = self._options.given_type(*table, name)
        if type is not None:
            return self._column(name, None, type.declared, optional=True)
        classes = {value.__class__ for value in values if value is not None}
        if not classes:
            return None
        if len(values) == 1 and classes <= {dict, list}:
            seen = seen_schema(values[0])
            return Column(name, seen, lambda value: fitted(seen, value))
        schema = _INFERRED.get(frozenset(classes))
        if schema is None:
            raise ValueError(f"column {name} holds values of several kinds: give its type with 'column.types'")
        return Column(name, schema.as_optional(), _reader(schema))

    def _column(self, name: str, written: Schema | None, type: MySqlType | None, *, optional: bool) -> Column:
        schema, read = self._known(written, type)
        return Column(name, schema.as_optional() if optional else schema, read)

    def _known(self, written: Schema | None, type: MySqlType | None) -> tuple[Schema, Read | None]:
        """What Debezium's mapping loses and the type gives back; all else stays as it was written."""
        kind = type.name if type is not None else ""
        if type is not None and kind == "bigint" and type.unsigned:
            schema = schema_of(type, self._options)
            return schema, self._exact(schema, numbers.unsigned_bigint(schema))
        if type is not None and kind == "decimal":
            return self._decimal(written, type)
        if type is not None and kind in BINARY:
            as_bytes = written is not None and written.type == "bytes"
            return schema_of(type, self._options), from_base64 if as_bytes else BINARY_FORMS[self._options.binary_form]
        if type is not None and kind == "float" and type.scale is not None:
            return schema_of(type, self._options), numbers.floats(FLOAT64, type.scale)
        if kind == "vector":
            return logical.FLOAT_VECTOR, vector
        if written is None:
            assert type is not None
            # Debezium always writes labels, also where its schema change (1.9) does not name them.
            written = STRING if kind in {"enum", "set"} and type.labels is None else schema_of(type, self._options)
        return written, _reader(written)

    def _decimal(self, written: Schema | None, type: MySqlType) -> tuple[Schema, Read | None]:
        if written is not None and written.name == logical.DECIMAL_NAME:
            return written, from_base64
        if type.length is None and written is not None:
            return written, _reader(written)
        schema = schema_of(type, self._options)
        return schema, self._exact(schema, numbers.decimal(schema))

    def _exact(self, schema: Schema, read: Read) -> Read:
        return from_base64 if self._unscaled and schema.name == logical.DECIMAL_NAME else read


def _extended(text: str, written: Written) -> MySqlType:
    """The type in `tidb_type`, with what the schema's parameters add."""
    type = parse_type(text)
    length = (written.get("parameters") or {}).get("length")
    return replace(type, length=int(length)) if type.name == "bit" and length else type


def _double(value: Any) -> float:
    if value.__class__ is float or value.__class__ is int:
        return float(value)
    raise TypeError("is no number")


def _reader(schema: Schema) -> Read | None:
    if schema.type in {"float32", "float64"}:
        return _double
    return from_base64 if schema.type == "bytes" else None


_INFERRED: dict[frozenset[type], Schema] = {
    frozenset({int}): INT64,
    frozenset({float}): FLOAT64,
    frozenset({int, float}): FLOAT64,
    frozenset({bool}): Schema("boolean"),
    frozenset({str}): STRING,
}
