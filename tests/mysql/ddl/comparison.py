"""Compares tracked definitions with what a server's catalogue says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from decimal import Decimal

from cdckit_mysql.table import Column, Table, TableId, Tables
from mysql.ddl.catalog import EXPRESSION, ColumnFacts, Dialect, TableFacts

_WIDTHS = {"tinyint": (4, 3), "smallint": (6, 5), "mediumint": (9, 8), "int": (11, 10), "bigint": (20, 20)}
"""How wide an integer is shown that nobody gave a width: with a sign, and without."""
_TIMES = ("time", "datetime", "timestamp")
_SAME_EXPRESSIONS = (
    (r"_utf8mb4\b|_latin1\b|`ddl1`\.|\\", ""),
    (r"\bcurrent_timestamp\b", "now"),
    (r"\bcurrent_date\b", "curdate"),
    (r"\bnext value for\b", "nextval"),
    (r"\bx'", "0x"),
    (r"[^a-z0-9]", ""),
)
"""What the servers write otherwise than the statement did."""


def differences(tracked: dict[TableId, TableFacts], server: dict[TableId, TableFacts]) -> Iterator[str]:
    """Yield each fact in which the tracked definitions and the server differ."""
    for table_id in tracked.keys() - server.keys():
        yield f"{table_id} is tracked, but not on the server"
    for table_id, facts in server.items():
        if table_id in tracked:
            yield from _table_differences(str(table_id), facts, tracked[table_id])
        else:
            yield f"{table_id} is on the server, but not tracked"


def tracked_facts(tables: Tables, databases: tuple[str, ...], dialect: Dialect) -> dict[TableId, TableFacts]:
    """Return the facts of tracked definitions, as the server's catalogue would tell them."""
    captured = (table for table in tables if table.database in databases and not table.sequence)
    return {table.id: _facts(table, dialect) for table in captured}


def _table_differences(name: str, server: TableFacts, tracked: TableFacts) -> Iterator[str]:
    for aspect in ("collation", "comment", "primary_key", "indexes"):
        if getattr(server, aspect) != getattr(tracked, aspect):
            yield f"{name}: {aspect}: server {getattr(server, aspect)!r}, tracked {getattr(tracked, aspect)!r}"
    names = [column.name for column in server.columns], [column.name for column in tracked.columns]
    if names[0] != names[1]:
        yield f"{name}: columns: server {names[0]}, tracked {names[1]}"
        return
    for theirs, ours in zip(server.columns, tracked.columns, strict=True):
        yield from _column_differences(f"{name}.{theirs.name}", theirs, ours)


def _column_differences(name: str, server: ColumnFacts, tracked: ColumnFacts) -> Iterator[str]:
    ours = asdict(tracked)
    for aspect, value in asdict(server).items():
        if aspect == "default":
            same = _comparable(server.type, value) == _comparable(server.type, ours[aspect])
        else:
            same = value == ours[aspect]
        if not same:
            yield f"{name}: {aspect}: server {value!r}, tracked {ours[aspect]!r}"


def _facts(table: Table, dialect: Dialect) -> TableFacts:
    return TableFacts(
        collation=table.collation,
        comment=table.comment,
        columns=[_column_facts(column, dialect) for column in table.columns],
        primary_key=table.primary_key,
        indexes={index.name: (index.unique, index.columns) for index in table.indexes},
    )


def _column_facts(column: Column, dialect: Dialect) -> ColumnFacts:
    default = column.default
    if default is not None and column.default_is_expression:
        default = EXPRESSION + default
    elif default is not None and column.type_name.endswith(("BINARY", "BLOB")):
        default = f"0x{default.encode('latin-1').hex().upper()}"
    return ColumnFacts(
        name=column.name,
        type=_column_type(column, dialect),
        optional=column.optional,
        charset=column.charset,
        collation=column.collation,
        default=default,
        auto_incremented=column.auto_incremented,
        generated=column.generated,
        invisible=column.invisible,
        comment=column.comment,
    )


def _column_type(column: Column, dialect: Dialect) -> str:
    """Return what COLUMN_TYPE has for a column."""
    base = column.base_type.lower()
    sign = " unsigned" * column.unsigned + " zerofill" * column.zerofill
    if column.enum_values:
        return f"{base}({','.join(_quoted(label) for label in column.enum_values)})"
    if base in _WIDTHS:
        return f"{base}{_width(column, base, dialect)}{sign}"
    if base == "geometrycollection":
        return dialect.geometry_collection
    if base == "year":
        return "year(4)" if dialect.widths else "year"
    if column.scale is not None:
        return f"{base}({column.length},{column.scale}){sign}"
    if column.length is None or (base in _TIMES and column.length == 0):
        return base + sign
    return f"{base}({column.length}){sign}"


def _width(column: Column, base: str, dialect: Dialect) -> str:
    boolean = base == "tinyint" and column.length == 1 and not column.unsigned
    if not (dialect.widths or column.zerofill or boolean):
        return ""
    return f"({column.length or _WIDTHS[base][column.unsigned]})"


def _quoted(label: str) -> str:
    return "'" + label.replace("\\", "\\\\").replace("'", "''") + "'"


def _comparable(column_type: str, default: str | None) -> object:
    """Return a default so that two spellings of one value are equal."""
    if default is None:
        return None
    if default.startswith(EXPRESSION):
        return EXPRESSION, _letters(default.removeprefix(EXPRESSION))
    base = re.split(r"[ (]", column_type)[0]
    if base in _WIDTHS or base in ("decimal", "float", "double"):
        return _number(column_type, default)
    if base == "bit":
        return default.removeprefix("b'").removesuffix("'")
    if base == "year":
        return int(default) % 100
    if base in ("date", *_TIMES):
        return re.sub(r"\.?0*$", "", default) if "." in default else default
    if base in ("enum", "set"):
        return set(default.lower().split(","))
    if base.endswith(("binary", "blob")):
        return _bytes(default)
    return default


def _number(column_type: str, default: str) -> Decimal:
    scale = re.search(r",(\d+)\)", column_type)
    value = Decimal(default)
    if column_type.startswith("float") and not scale:
        return Decimal(f"{float(value):.6g}")
    return round(value, int(scale[1])) if scale else value if "." not in default else value.normalize()


def _letters(expression: str) -> str:
    """Return an expression without what the servers add to it or leave out of it."""
    text = expression.lower()
    for pattern, replacement in _SAME_EXPRESSIONS:
        text = re.sub(pattern, replacement, text)
    return text


def _bytes(default: str) -> bytes:
    """Return the bytes of a default without the zeros that BINARY ends in; they may be shown as hexadecimal digits."""
    digits = re.fullmatch(r"0x((?:[0-9A-F]{2})*)", default)
    return (bytes.fromhex(digits[1]) if digits else default.encode()).rstrip(b"\0")
