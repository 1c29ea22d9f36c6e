"""The signal `schema-changes`: definitions that no statement of the log has told of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cdckit.connector.signals import Signal
from cdckit.connector.signals.snapshot_request import StopRequest
from cdckit_mysql.ddl import create_statement
from cdckit_mysql.schema_changes.facts import id_parts, self_setting
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import quoted
from cdckit_mysql.table import TableId


class ToldDefinition(NamedTuple):
    """A table, and the statement that makes or drops it."""

    table: TableId
    statement: str


def told_definitions(signal: Signal, captured: Sequence[TableId], connection: Connection) -> list[ToldDefinition]:
    """What the signal tells.

    Debezium's form, `database` and `changes` with each a `type`, an `id` and a `table` as schema-change events have
    them; or `data-collections`, whose definitions are those that the server has now.

    Args:
        signal: the signal.
        captured: the tables that are captured.
        connection: asked for definitions.

    Raises:
        ValueError: it cannot be understood.
    """
    if "data-collections" in signal.data:
        wanted = StopRequest.of(signal)
        chosen = [table for table in captured if wanted.stops(str(table))]
        return [ToldDefinition(table, found) for table in chosen if (found := create_statement(connection, table))]
    changes = signal.data.get("changes")
    if not isinstance(changes, list) or not changes:
        raise ValueError("schema-changes needs `changes`, or `data-collections` whose definitions the server has")
    return [_told_definition(change, str(signal.data.get("database", ""))) for change in changes]


def _told_definition(change: Any, database: str) -> ToldDefinition:
    try:
        parts = id_parts(change["id"])
        table = TableId(parts[0] if len(parts) > 1 else database, parts[-1])
        if str(change["type"]).upper() == "DROP":
            return ToldDefinition(table, f"DROP TABLE {quoted(*table)}")
        return ToldDefinition(table, _create_statement(table, change["table"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"schema-changes: a change lacks {error}, or is no such object") from error


def _create_statement(table: TableId, told: Mapping[str, Any]) -> str:
    members = [*_columns(told["columns"])]
    if key := told.get("primaryKeyColumnNames"):
        members.append(f"PRIMARY KEY ({', '.join(quoted(name) for name in key)})")
    charset = told.get("defaultCharsetName")
    return f"CREATE TABLE {quoted(*table)} ({', '.join(members)})" + (f" DEFAULT CHARSET={charset}" if charset else "")


def _columns(columns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for column in sorted(columns, key=lambda one: one.get("position", 0)):
        words = [quoted(column["name"]), _type(column)]
        if column.get("charsetName"):
            words.append(f"CHARACTER SET {column['charsetName']}")
        words.append("NULL" if column.get("optional", True) else "NOT NULL")
        if column.get("hasDefaultValue") and column.get("defaultValueExpression") is not None:
            words.append("DEFAULT " + _literal(str(column["defaultValueExpression"])))
        yield " ".join(words) + self_setting(column)


def _type(column: Mapping[str, Any]) -> str:
    """The type as a statement has it: what stands in parentheses comes before UNSIGNED."""
    base, *rest = str(column.get("typeName") or column["typeExpression"]).split()
    inside: Sequence[Any] = column.get("enumValues") or ()
    if not inside and base.upper() not in ("ENUM", "SET") and column.get("length") is not None:
        inside = [part for part in (column["length"], column.get("scale")) if part is not None]
    return " ".join([base + (f"({', '.join(map(str, inside))})" if inside else ""), *rest])


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
