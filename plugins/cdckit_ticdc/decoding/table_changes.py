"""Definitions in schema-change events: Debezium's `tableChanges`, which TiCDC writes too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cdckit_ticdc.columns.types import MySqlType, parse_type
from cdckit_ticdc.definitions import ColumnDefinition, Definition

_OFFSET_BITS = 40
_PART = re.compile(r'"((?:[^"]|"")*+)"')


def table_names(identity: str) -> tuple[str, str]:
    """Database and table out of `"db"."table"`.

    Raises:
        ValueError: it names no table.
    """
    parts = [part.replace('""', '"') for part in _PART.findall(identity.replace('\\"', '"'))]
    if len(parts) < 2:
        raise ValueError(f"{identity!r} names no table")
    return parts[-2], parts[-1]


def moment(source: Mapping[str, Any], position: Mapping[str, Any] | None = None) -> int:
    """A number that tells which definition a row was written under: it rises along a source's log.

    MySQL's is its place in the binary log: in Debezium 1 the time of a schema change is when it was read, which is
    later than rows that come after it. Where there is no such place it is the time in milliseconds.

    Args:
        source: the source block.
        position: the member `position` of the history's own form, which tells the place instead.
    """
    place = position or source
    file, offset = place.get("file"), place.get("pos")
    number = file.rpartition(".")[2] if isinstance(file, str) else ""
    if number.isdecimal() and isinstance(offset, int):
        return int(number) << _OFFSET_BITS | offset
    return source.get("ts_ms") or (place.get("ts_sec") or 0) * 1000


def definitions(changes: Sequence[Mapping[str, Any]], since: int) -> Iterator[Definition]:
    """The definitions of the tables that a statement made or changed.

    Raises:
        KeyError: something is missing.
        ValueError: a type does not exist.
    """
    for change in changes:
        table = change.get("table")
        if table is None or change["type"] == "DROP":
            continue
        database, name = table_names(change["id"])
        columns = tuple(_column(column) for column in table["columns"])
        key = tuple(table.get("primaryKeyColumnNames") or ())
        yield Definition(database, name, since, columns, key)


def _column(column: Mapping[str, Any]) -> ColumnDefinition:
    return ColumnDefinition(column["name"], _type(column), bool(column.get("optional", True)))


def _type(column: Mapping[str, Any]) -> MySqlType:
    type = parse_type(column.get("typeExpression") or column["typeName"])
    labels = column.get("enumValues")
    if labels:
        type = replace(type, labels=tuple(_unquoted(label) for label in labels))
    if type.length is None and column.get("length") is not None:
        type = replace(type, length=column["length"], scale=column.get("scale"))
    return type


def _unquoted(label: str) -> str:
    """A label as Debezium writes it, in quotes, or as TiCDC does, without."""
    quoted = len(label) > 1 and label[0] == label[-1] == "'"
    return label[1:-1].replace("''", "'") if quoted else label
