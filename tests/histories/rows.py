"""Rows in one form, wherever they were read, so that those of a source and of a sink can be compared."""

from __future__ import annotations

import hashlib
import json
import struct
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from testkit.servers.mysql_family import SQLServer

Row = tuple[str | None, ...]
"""The values of a row in the order of its table's columns, each as a text that is the same for equal values."""
Types = dict[str, str]
"""The columns of a table in their order, and their types as `information_schema` calls them."""

EPOCH = datetime(1970, 1, 1)
ZERO_DATE = "0000-00-00"
"""What the server has for no date, and events null."""
_MICRO = timedelta(microseconds=1)
_SHOWN = 5


def _number(value: Any) -> str:
    number = Decimal(value)
    return "0" if not number else f"{number.normalize():f}"


def _micros(value: Any) -> str:
    """Of a moment or a time of day: microseconds."""
    if isinstance(value, datetime):
        value = (value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value) - EPOCH
    return str(value // _MICRO if isinstance(value, timedelta) else int(value))


def _days(value: Any) -> str:
    return str((value - EPOCH.date()).days if isinstance(value, date) else int(value))


def _single(value: Any) -> str:
    """Six digits, which is what a snapshot shows of a FLOAT, as the server prints it."""
    return f"{struct.unpack('<f', struct.pack('<f', float(value)))[0]:.6g}"


def _bits(value: Any) -> str:
    return str(int.from_bytes(value, "little") if isinstance(value, bytes | bytearray) else int(value))


def _json(value: Any) -> str:
    """The log has large doubles without a point."""
    return json.dumps(json.loads(value, parse_float=_whole), sort_keys=True)


def _whole(number: str) -> float:
    return int(found) if (found := float(number)).is_integer() else found


def _shape(value: Any) -> str:
    """Of a geometry: the reference system and the well-known bytes; MySQL's own form has both in one text of bytes."""
    if isinstance(value, bytes):
        return f"{struct.unpack('<I', value[:4])[0]} {value[4:].hex()}"
    if isinstance(value, dict):  # of Arrow
        value = value["wkb"], value["srid"]
    wkb, srid = value if len(value) == 2 else (value.wkb, value.srid)  # a pair of `decoded`, or a row of Spark
    return f"{srid or 0} {bytes(wkb).hex()}"


def _year(value: Any) -> str:
    """Year 0 is 1900 in events, as in Debezium's."""
    return str(int(value) or 1900)


def _octets(value: Any) -> str:
    return bytes(value).hex()


_FORMS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "decimal"), _number),
    **dict.fromkeys(("datetime", "timestamp", "time"), _micros),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), _octets),
    **dict.fromkeys(("geometry", "point", "linestring"), _shape),
    "year": _year,
    "date": _days,
    "float": _single,
    "double": lambda value: repr(float(value)),
    "bit": _bits,
    "json": _json,
}


def canonical(kind: str, value: Any) -> str | None:
    """A value of a column as a text.

    Args:
        kind: the type of the source's column.
        value: as a driver, Spark or `decoded` has it.
    """
    if value is None or (isinstance(value, str) and value.startswith(ZERO_DATE)):
        return None
    try:
        return _FORMS.get(kind, str)(value)
    except (ValueError, TypeError, ArithmeticError):
        return f"(no {kind}: {value!r})"


def decoded(schema: Mapping[str, Any], value: Any) -> Any:
    """A value of Connect's JSON with its schema: https://debezium.io/documentation/reference/stable/connectors/mysql.html, "Data type mappings"."""  # noqa: E501
    if value is None:
        return None
    name = schema.get("name") or ""
    if name.endswith("connect.data.Decimal"):
        unscaled = int.from_bytes(b64decode(value), "big", signed=True)
        return Decimal(unscaled).scaleb(-int(schema["parameters"]["scale"]))
    if ".data.geometry." in name:
        return b64decode(value["wkb"]), value["srid"]
    if schema["type"] == "bytes":
        return b64decode(value)
    if name == "io.debezium.time.Timestamp":
        return value * 1000
    if name == "io.debezium.time.ZonedTimestamp":
        return datetime.fromisoformat(value)
    return _as_snapshots_and_logs_have_it(schema["type"], name, value)


def _as_snapshots_and_logs_have_it(kind: str, name: str, value: Any) -> Any:
    """A snapshot has the server's own text of a document, and of a FLOAT; the log has neither."""
    if name == "io.debezium.data.Json":
        return canonical("json", value) if value[:1] in '{["-0123456789tfn' else value  # or what is unavailable
    return _single(value) if kind == "float" else value


def columns_of(server: SQLServer, database: str) -> dict[str, Types]:
    """The tables of a database, and their columns."""
    found: dict[str, Types] = {}
    query = (
        "SELECT c.TABLE_NAME, c.COLUMN_NAME, c.DATA_TYPE FROM information_schema.COLUMNS c "
        "JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME) "
        "WHERE TABLE_SCHEMA = %s AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') "
        "ORDER BY TABLE_NAME, ORDINAL_POSITION"
    )
    for table, column, kind in server.execute(query, (database,)):
        found.setdefault(table, {})[column] = kind.lower()
    return found


def keys_of(server: SQLServer, database: str) -> dict[str, list[str]]:
    """The columns of the key of each table of a database that has one."""
    found: dict[str, list[str]] = {}
    query = (
        "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.STATISTICS "
        "WHERE TABLE_SCHEMA = %s AND INDEX_NAME = 'PRIMARY' ORDER BY TABLE_NAME, SEQ_IN_INDEX"
    )
    for table, column in server.execute(query, (database,)):
        found.setdefault(table, []).append(column)
    return found


def at_source(server: SQLServer, database: str, table: str, types: Types) -> Counter[Row]:
    """The rows of a table."""
    columns = ", ".join(_selected(name, kind) for name, kind in types.items())
    found = server.execute(
        f"SELECT {columns} FROM `{table}`", database=database, init_command="SET time_zone = '+00:00'"
    )
    kinds = list(types.values())
    return Counter(tuple(map(canonical, kinds, row)) for row in found)


def _selected(name: str, kind: str) -> str:
    if kind == "float":
        return f"CAST(`{name}` AS DOUBLE)"
    return f"`{name}` + 0" if kind == "bit" else f"`{name}`"


def in_form(types: Types, rows: Iterable[Mapping[str, Any]]) -> Counter[Row]:
    """Rows of a sink as those of the source are; a column that is not there stands out as such."""
    return Counter(
        tuple(canonical(kind, row[name]) if name in row else "(no column)" for name, kind in types.items())
        for row in rows
    )


def content_hash(rows: Counter[Row]) -> str:
    """A hash of rows that is the same for the same rows, whatever their order."""
    digest = hashlib.sha256()
    for line in sorted(repr(row) for row in rows.elements()):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def difference(names: Iterable[str], expected: Counter[Row], found: Counter[Row]) -> str:
    """What is missing, what is too much; "" where the rows are equal."""
    if content_hash(expected) == content_hash(found):
        return ""
    missing, extra = expected - found, found - expected
    by_first = {row[0]: row for row in extra}
    lines = [f"{sum(expected.values())} rows expected, {sum(found.values())} found; columns: {', '.join(names)}"]
    changed = [(row, by_first[row[0]]) for row in missing if row[0] in by_first]
    lines += [f"  changed  {row}\n       to  {other}" for row, other in changed[:_SHOWN]]
    told = {row for pair in changed for row in pair}
    lines += [f"  missing  {row} x{n}" for row, n in missing.items() if row not in told][:_SHOWN]
    lines += [f"  extra    {row} x{n}" for row, n in extra.items() if row not in told][:_SHOWN]
    return "\n".join(lines)
