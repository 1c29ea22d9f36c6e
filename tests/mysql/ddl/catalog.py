"""What a server's own catalogue says of its tables, in the words in which tracked definitions are compared."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from pymysql.connections import Connection
from pymysql.cursors import DictCursor

from cdckit_mysql.table import TableId

_COLUMNS = {
    "TABLES": ("TABLE_TYPE", "TABLE_COLLATION", "TABLE_COMMENT"),
    "COLUMNS": (
        "COLUMN_NAME",
        "ORDINAL_POSITION",
        "COLUMN_TYPE",
        "DATA_TYPE",
        "IS_NULLABLE",
        "CHARACTER_SET_NAME",
        "COLLATION_NAME",
        "COLUMN_DEFAULT",
        "EXTRA",
        "COLUMN_COMMENT",
    ),
    "STATISTICS": ("INDEX_NAME", "NON_UNIQUE", "SEQ_IN_INDEX", "COLUMN_NAME"),
}
"""What is asked of each view; asking for all is slow, as some columns are statistics."""
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "Z": "\x1a"}
EXPRESSION = "expression: "
"""Marks a default that the server evaluates."""


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column as both sides can tell it; `type` is COLUMN_TYPE."""

    name: str
    type: str
    optional: bool
    charset: str | None
    collation: str | None
    default: str | None
    auto_incremented: bool
    generated: bool
    invisible: bool
    comment: str | None


@dataclass(slots=True)
class TableFacts:
    """A table as both sides can tell it."""

    collation: str | None
    comment: str | None
    columns: list[ColumnFacts] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    indexes: dict[str, tuple[bool, tuple[str, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server's catalogue writes things down."""

    mariadb: bool
    widths: bool
    """Integers are shown with the width that nobody asked for."""
    geometry_collection: str

    @classmethod
    def of(cls, connection: Connection[Any]) -> Dialect:
        version = str(_rows(connection, "SELECT VERSION() AS version")[0]["version"])
        mariadb = "MariaDB" in version
        old = mariadb or int(version.split(".", maxsplit=1)[0]) < 8
        return cls(mariadb, old, "geometrycollection" if old else "geomcollection")


def read_catalog(connection: Connection[Any], databases: tuple[str, ...]) -> dict[TableId, TableFacts]:
    """Return the facts of all tables in the databases."""
    dialect = Dialect.of(connection)
    found: dict[TableId, TableFacts] = {}
    for row in _catalog_rows(connection, "TABLES", databases):
        if row["TABLE_TYPE"] in ("BASE TABLE", "SYSTEM VERSIONED"):
            found[_id(row)] = TableFacts(row["TABLE_COLLATION"], row["TABLE_COMMENT"] or None)
    for row in sorted(_catalog_rows(connection, "COLUMNS", databases), key=lambda row: int(row["ORDINAL_POSITION"])):
        if _id(row) in found:
            found[_id(row)].columns.append(_column(row, dialect))
    _add_indexes(_catalog_rows(connection, "STATISTICS", databases), found)
    return found


def _id(row: dict[str, Any]) -> TableId:
    return TableId(row["TABLE_SCHEMA"], row["TABLE_NAME"])


def _column(row: dict[str, Any], dialect: Dialect) -> ColumnFacts:
    extra = row["EXTRA"]
    generated = re.search(r"(?<!DEFAULT_)GENERATED|PERSISTENT", extra) is not None
    default = _maria_default(row["COLUMN_DEFAULT"]) if dialect.mariadb else _mysql_default(row)
    return ColumnFacts(
        name=row["COLUMN_NAME"],
        type=re.sub(r" /\*.*\*/", "", row["COLUMN_TYPE"]),
        optional=row["IS_NULLABLE"] == "YES",
        charset=_text_only(row["CHARACTER_SET_NAME"]),
        collation=_text_only(row["COLLATION_NAME"]),
        default=None if generated else default,
        auto_incremented="auto_increment" in extra,
        generated=generated,
        invisible="INVISIBLE" in extra,
        comment=row["COLUMN_COMMENT"] or None,
    )


def _text_only(name: str | None) -> str | None:
    """MariaDB shows `binary` for ENUM and SET that have no character set, MySQL nothing."""
    return None if name == "binary" else name


def _mysql_default(row: dict[str, Any]) -> str | None:
    text: str | None = row["COLUMN_DEFAULT"]
    if text is not None and ("DEFAULT_GENERATED" in row["EXTRA"] or _is_now(text, row["DATA_TYPE"])):
        return EXPRESSION + text
    return text


def _is_now(text: str, data_type: str) -> bool:
    return data_type in ("timestamp", "datetime") and text.startswith("CURRENT_TIMESTAMP")


def _maria_default(text: str | None) -> str | None:
    """MariaDB shows defaults as SQL: quoted, or an expression, or NULL."""
    if text is None or text == "NULL":
        return None
    if text.startswith("'"):
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1].replace("''", "'"))
    if hexadecimal := re.fullmatch(r"(?:X'|0x)([0-9A-F]*)'?", text):
        return bytes.fromhex(hexadecimal[1]).decode("latin-1")
    if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?|b'[01]*'", text):
        return text
    return EXPRESSION + text


def _add_indexes(rows: list[dict[str, Any]], found: dict[TableId, TableFacts]) -> None:
    parts: dict[tuple[TableId, str, bool], dict[int, str]] = defaultdict(dict)
    for row in rows:
        parts[_id(row), row["INDEX_NAME"], not int(row["NON_UNIQUE"])][row["SEQ_IN_INDEX"]] = row["COLUMN_NAME"] or ""
    for (table_id, name, unique), columns in parts.items():
        ordered = tuple(columns[number] for number in sorted(columns))
        if name == "PRIMARY":
            found[table_id].primary_key = ordered
        elif table_id in found:
            found[table_id].indexes[name] = (unique, ordered)


def _catalog_rows(connection: Connection[Any], view: str, databases: tuple[str, ...]) -> list[dict[str, Any]]:
    names = ", ".join(f"'{name}'" for name in databases)
    columns = ", ".join(f"{name} AS {name}" for name in ("TABLE_SCHEMA", "TABLE_NAME", *_COLUMNS[view]))
    return _rows(connection, f"SELECT {columns} FROM information_schema.{view} WHERE TABLE_SCHEMA IN ({names})")


def _rows(connection: Connection[Any], sql: str) -> list[dict[str, Any]]:
    with connection.cursor(DictCursor) as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())
