"""Columns that are read off the documents: Spark's own inference of JSON schemas, kept with the table.

Spark is given the documents' shapes, not the documents: values that stand for their types, each shape once. Names of
fields are in hexadecimal there, as Spark would take `Name` and `name` for the same.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import orjson
from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, DataType, DoubleType, LongType, StructType

from cdckit.tables.documents import DeclaredColumn, parsed
from cdckit.tables.extended_json import declared_type
from cdckit.tables.layout import ABSENT, OP, POSITION
from cdckit.tables.shapes import FACT_COLUMNS
from cdckit.tables.target import Columns, Target
from cdckit_spark.release import json_schema
from cdckit_spark.rows import TableRows

log = logging.getLogger("cdckit.spark")

NOTE = "columns"
"""The note with the names, paths and types of the columns that were read off a table's documents."""

MOST_COLUMNS = 1000
"""How many columns a table gets at the most: fields whose names are data would make one after the other."""

_TEXT = "text"
"""What stands for a text; an empty one is nothing to Spark."""
_WRAPPED = {
    "$numberInt": 1,
    "$numberLong": 1,
    "$numberDouble": 0.5,
    "$date": {"$timestamp": 1},
    "$timestamp": {"$timestamp": 1},
    "$binary": {"$binary": 1},
}
"""What stands for values that extended JSON wraps; any other of its wrappings is a text."""
_KINDS = {"$timestamp": "timestamp", "$binary": "binary"}

Path = tuple[str, ...]
"""The names of the nested fields that lead to a value."""


class Inference:
    """The columns of one table."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._columns: dict[Path, DeclaredColumn] = {}
        self._noted: str | None = None
        self._full = False

    def widened(self, rows: TableRows, present: Columns) -> TableRows:
        """The rows with the columns that are known of their documents, and with those that they bring.

        Args:
            rows: of one batch.
            present: the table's columns, whose types stay; none where there is no table yet.
        """
        if not any(head.layout.documents for head in rows.headings):
            return rows
        if self._noted is None:
            self._load(self._target.notes() if present else {})
        taken = {name.lower() for head in rows.headings for name, _ in head.layout.columns}
        taken |= {POSITION, OP, ABSENT, *(name for name, _ in FACT_COLUMNS)}
        held = {name.lower(): (name, kind) for name, kind in present.items()}
        for path, kind in inferred_fields(rows.of_documents(shapes)):
            if path not in self._columns:
                self._take(path, *held.get(_name(path).lower(), (_name(path), kind)), taken)
        return rows.widened(tuple(self._columns.values()))

    def keep(self) -> None:
        """Notes the columns with the table, which has them by now."""
        text = json.dumps([[column.name, column.path, column.type.name] for column in self._columns.values()])
        if self._noted not in (None, text):
            self._target.note({NOTE: text})
            self._noted = text

    def _load(self, notes: Mapping[str, str]) -> None:
        self._noted = notes.get(NOTE, "[]")
        for name, names, kind in json.loads(self._noted):
            path = tuple(names)
            self._columns[path] = DeclaredColumn(name, path, declared_type(kind))

    def _take(self, path: Path, name: str, kind: str, taken: Set[str]) -> None:
        """Adds a column, unless its place is taken: such fields stay in the document alone."""
        used = taken | {column.name.lower() for column in self._columns.values()}
        if (
            name.lower() in used
            or not name.strip("_")
            or "," in name
            or any(_overlap(path, one) for one in self._columns)
        ):
            return
        if len(self._columns) >= MOST_COLUMNS:
            if not self._full:
                log.warning("table %s has %d columns: more fields stay in the document", self._target, MOST_COLUMNS)
            self._full = True
            return
        try:
            self._columns[path] = DeclaredColumn(name, path, declared_type(kind))
        except ValueError:
            log.warning("table %s: column '%s' is %s, which no field becomes", self._target, name, kind)


def _name(path: Path) -> str:
    return "_".join(path).replace(".", "_")


def _overlap(path: Path, other: Path) -> bool:
    """Whether one leads to the other."""
    shorter = min(len(path), len(other))
    return path[:shorter] == other[:shorter]


def inferred_fields(texts: DataFrame) -> Iterator[tuple[Path, str]]:
    """The fields in texts that `shapes` has made, and the names of the types of the columns for them."""
    return _fields(json_schema(texts), ())


def _fields(schema: StructType, path: Path) -> Iterator[tuple[Path, str]]:
    for field in schema.fields:
        inner = (*path, bytes.fromhex(field.name).decode())
        if isinstance(field.dataType, StructType) and not _wrapped(field.dataType):
            yield from _fields(field.dataType, inner)
        else:
            yield inner, _column_kind(field.dataType)


def _wrapped(kind: StructType) -> bool:
    return any(name.startswith("$") for name in kind.names)


def _column_kind(kind: DataType) -> str:
    """The type of a column; what Spark calls a string, since types differ, is one."""
    if isinstance(kind, StructType):
        return _KINDS[kind.names[0]] if len(kind.names) == 1 else "string"
    plain: dict[type[DataType], str] = {BooleanType: "boolean", LongType: "bigint", DoubleType: "double"}
    return plain.get(type(kind), "string")


def shapes(documents: Sequence[str | None]) -> set[str]:
    """The shapes of documents, as JSON."""
    return {orjson.dumps(_shape(parsed(text))).decode() for text in documents if text is not None}


def _shape(value: Any) -> Any:
    """A value that stands for all of its type."""
    if isinstance(value, dict):
        first = next(iter(value), "")
        if first.startswith("$"):
            return _WRAPPED.get(first, _TEXT)
        return {name.encode().hex(): _shape(inner) for name, inner in value.items()}
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return 1
    return 0.5 if isinstance(value, float) else _TEXT
