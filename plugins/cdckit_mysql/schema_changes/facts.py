"""All that Debezium's schema changes say of a table and its columns; each format shows a part of it."""

from __future__ import annotations

from typing import Any

from cdckit_mysql.schema_changes.jdbc import BOOLEAN, jdbc_type
from cdckit_mysql.table import Column, Table, TableId

_EPOCH = "1970-01-01 00:00:00"
"""What Debezium has for a default that is the current time."""


def quoted_id(table: TableId) -> str:
    """The id of a table: `"database"."table"`."""
    return ".".join(f'"{part}"' for part in table)


def table_facts(table: Table, *, comments: bool) -> dict[str, Any]:
    """A table's members by their names; `columns` is a list of `column_facts`."""
    return {
        "defaultCharsetName": table.charset,
        "primaryKeyColumnNames": list(table.key_columns),
        "columns": [column_facts(column, comments=comments) for column in table.columns],
        "comment": table.comment if comments else None,
    }


def column_facts(column: Column, *, comments: bool) -> dict[str, Any]:
    """A column's members by their names; None for what it does not have."""
    jdbc = jdbc_type(column)
    return {
        "name": column.name,
        "jdbcType": jdbc,
        "nativeType": None,
        "typeName": column.type_expression,
        "typeExpression": column.type_expression,
        "charsetName": column.charset,
        "length": None if jdbc == BOOLEAN else column.length,
        "scale": column.scale,
        "position": column.position,
        "optional": column.optional,
        "autoIncremented": column.auto_incremented,
        "generated": column.auto_incremented,
        "comment": column.comment if comments else None,
        "hasDefaultValue": column.has_default,
        "defaultValueExpression": _default(column),
        "enumValues": [_literal(label) for label in column.enum_values] or None,
    }


def _literal(label: str) -> str:
    return "'" + label.replace("'", "''") + "'"


def _default(column: Column) -> str | None:
    """The default as Debezium keeps it: without expressions."""
    if column.default is None or not column.default_is_expression:
        return column.default
    return _EPOCH if column.default.upper().startswith("CURRENT_TIMESTAMP") else None
