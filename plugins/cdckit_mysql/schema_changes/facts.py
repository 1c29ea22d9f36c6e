"""All that Debezium's schema changes say of a table and its columns; each format shows a part of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cdckit_mysql.schema_changes.jdbc import BOOLEAN, jdbc_type
from cdckit_mysql.table import Column, Table, TableId

_EPOCH = "1970-01-01 00:00:00"
"""What Debezium has for a default that is the current time."""
_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?:\."((?:[^"]|"")*)")?')


def quoted_id(table: TableId) -> str:
    """The id of a table: `"database"."table"`."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in table)


def id_parts(text: str) -> list[str]:
    """The names in the id of a table, quoted or not."""
    found = _QUOTED.fullmatch(text)
    if found is None:
        return [part.strip('"') for part in text.rsplit(".", 1)]
    return [part.replace('""', '"') for part in found.groups() if part is not None]


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
    sets_itself = column.auto_incremented or column.updates
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
        "autoIncremented": sets_itself,
        "generated": sets_itself,
        "comment": column.comment if comments else None,
        "hasDefaultValue": column.has_default,
        "defaultValueExpression": _default(column),
        "enumValues": [_literal(label) for label in column.enum_values] or None,
    }


def self_setting(facts: Mapping[str, Any]) -> str:
    """The attribute of which `autoIncremented` tells, with a blank before it; empty where there is none."""
    if not facts.get("autoIncremented"):
        return ""
    type_name = str(facts.get("typeName") or facts.get("typeExpression")).upper()
    if type_name not in ("DATETIME", "TIMESTAMP"):
        return " AUTO_INCREMENT"
    return " ON UPDATE CURRENT_TIMESTAMP" + (f"({facts['length']})" if facts.get("length") else "")


def _literal(label: str) -> str:
    return "'" + label.replace("'", "''") + "'"


def _default(column: Column) -> str | None:
    """The default as Debezium keeps it: without expressions."""
    if column.default is None or not column.default_is_expression:
        return column.default
    return _EPOCH if column.default.upper().startswith("CURRENT_TIMESTAMP") else None
