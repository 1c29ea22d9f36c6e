"""Documents as rows: events whose `before` and `after` are JSON text, as MongoDB's are.

A table of documents has the columns of the key, and the document as it is, or the columns that the user has declared
(`document.columns`), or the document and the columns that its fields are inferred to be.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from arro3.core import RecordBatch

from cdckit.api.names_text import names_text
from cdckit.api.schema import OPTIONAL_STRING, Schema
from cdckit.api.struct import Struct
from cdckit.tables.arrays import STRING, array, batch_of
from cdckit.tables.extended_json import DeclaredType, declared_type
from cdckit.tables.layout import ABSENT
from cdckit.tables.types import ColumnType, column_type

if TYPE_CHECKING:
    from arro3.core.types import ArrowArrayExportable

DOCUMENT = "document"
"""The column of a whole document."""

UPDATE = "update_description"
"""The column of a changelog that tells what an update has changed, as JSON."""


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """A column that is read out of the documents.

    Attributes:
        name: the column's name.
        path: the names of the nested fields that lead to its value.
        type: how the value is read.
    """

    name: str
    path: tuple[str, ...]
    type: DeclaredType

    def value_in(self, document: Any) -> Any:
        """The value, or None where the document has no such field.

        Raises:
            ValueError: there is one of another type; the message names the column.
        """
        for part in self.path:
            document = document.get(part) if isinstance(document, dict) else None
        if document is None:
            return None
        try:
            return self.type.read(document)
        except (ValueError, TypeError, LookupError, ArithmeticError):
            shown = orjson.dumps(document).decode()[:60]
            raise ValueError(f"field {'.'.join(self.path)} is no {self.type.name}: {shown}") from None


def parse_columns(text: str) -> tuple[DeclaredColumn, ...]:
    """The columns in `name string, address.city string, bought timestamp`; dots become `_` in the column's name.

    Raises:
        ValueError: a part has no type, or one that is not known, or two columns have the same name.
    """
    columns: dict[str, DeclaredColumn] = {}
    for part in _parts(text):
        path, _, kind = part.partition(" ")
        if not kind.strip():
            raise ValueError(f"'{part}' does not look like FIELD TYPE, such as address.city string")
        name = path.replace(".", "_")
        if name in columns:
            raise ValueError(f"two columns would be called '{name}'")
        columns[name] = DeclaredColumn(name, tuple(path.split(".")), declared_type(kind.strip().lower()))
    return tuple(columns.values())


def _parts(text: str) -> list[str]:
    """Split at commas, but not at the one in `decimal(10,2)`."""
    parts, depth, begun = [], 0, 0
    for at, letter in enumerate(f"{text},"):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[begun:at].strip())
            begun = at + 1
    return [part for part in parts if part]


class DocumentRows:
    """Makes rows of documents.

    Args:
        declared: the columns to read out of them; none: the document as it is.
        with_update: whether there is a column for what an update has changed.
        inferred: whether more columns are read out of the document later.
    """

    def __init__(self, declared: Sequence[DeclaredColumn], *, with_update: bool, inferred: bool = False) -> None:
        self.inferred = inferred
        self._declared = tuple(declared)
        self._with_update = with_update
        self._schemas = [(column.name, column.type.schema) for column in declared] or [(DOCUMENT, OPTIONAL_STRING)]
        self.absent = names_text(name for name, _ in self._schemas)
        """Names the columns of which an event without document says nothing, as `names_text` does."""

    def columns(self, key: Schema) -> list[tuple[str, ColumnType]]:
        """The columns of a table whose rows are known by `key`.

        Raises:
            ValueError: a declared column has the name of one of the key's.
        """
        taken = [name for name, _ in self._schemas if name in key.index]
        if taken:
            raise ValueError(f"document.columns: '{taken[0]}' is the key's column; rename the field on its way here")
        added = [(UPDATE, OPTIONAL_STRING)] if self._with_update else []
        schemas = [*((field.name, field.schema) for field in key.fields), *self._schemas, *added]
        return [(name, column_type(schema)) for name, schema in schemas]

    def row(self, key: Struct, text: str | None, update: Struct | None) -> tuple[Any, ...]:
        """The row of one document.

        Raises:
            ValueError: a declared column's value is of another type.
        """
        added = (_json(update),) if self._with_update else ()
        return (*key.values, *self._values(text), *added)

    def _values(self, text: str | None) -> Sequence[Any]:
        if not self._declared:
            return (text,)
        document = None if text is None else parsed(text)
        return [column.value_in(document) for column in self._declared]


def identifiable(columns: Collection[str], key: Collection[str]) -> frozenset[str]:
    """The columns that hold whole documents, of which `_id` counts as the first field wherever an event shows it.

    Args:
        columns: all columns of a table that are compared: of one of documents those of the key and the document.
        key: those of the key.
    """
    return frozenset({DOCUMENT} if {*columns} == {*key, DOCUMENT} else ())


def with_columns(rows: ArrowArrayExportable, columns: Sequence[DeclaredColumn]) -> RecordBatch:
    """Rows of documents with more columns, read out of them; a value of another type is null there."""
    batch = RecordBatch.from_arrow(rows)
    documents = [None if text is None else parsed(text) for text in batch.column(DOCUMENT).to_pylist()]
    arrays = dict(zip(batch.column_names, batch.columns, strict=True))
    for column in columns:
        values = [_fitting(column, document) for document in documents]
        arrays[column.name] = column_type(column.type.schema).column(values)
    if ABSENT in arrays:
        names = names_text(column.name for column in columns)
        absent = arrays[ABSENT].to_pylist()
        arrays[ABSENT] = array([one and f"{one}{names}," for one in absent], STRING)
    return batch_of(arrays)


def _fitting(column: DeclaredColumn, document: Any) -> Any:
    try:
        return column.value_in(document)
    except ValueError:
        return None


def parsed(text: str) -> Any:
    """A document out of its JSON; NaN and infinities, there as Java writes them, as extended JSON has them."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text, parse_constant=lambda number: {"$numberDouble": number})


def _json(update: Struct | None) -> str | None:
    return None if update is None else orjson.dumps(update.to_dict()).decode()
