"""Rows of change events as the texts that `cdckit.tables.images` makes of the rows that a table holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from cdckit.api.schema import OPTIONAL_STRING, Schema
from cdckit.logical import JSON
from cdckit.tables.documents import DOCUMENT, identifiable
from cdckit.tables.row_texts import joined, texts
from cdckit.tables.types import ColumnType, column_type

Row = tuple[Any, ...]
_MADE = "tables.row_layout"


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The columns of one schema's rows.

    Attributes:
        columns: name and type of each, in the order of a row's values.
        documents: those that hold JSON as text, which snapshot and log may write in more than one way.
        identified: those that hold whole documents, as of MongoDB.
    """

    columns: tuple[tuple[str, ColumnType], ...]
    documents: frozenset[str]
    identified: frozenset[str]

    @classmethod
    def of(cls, row: Schema, key: Schema) -> Self:
        """That of rows of a schema, or of documents, which have the columns of their key besides."""
        found: dict[Schema, Self] = row.derived.setdefault(_MADE, {})
        if key not in found:
            found[key] = cls._made(row, key)
        return found[key]

    @classmethod
    def _made(cls, row: Schema, key: Schema) -> Self:
        if row.type == "string":
            fields = [*((field.name, field.schema) for field in key.fields), (DOCUMENT, OPTIONAL_STRING)]
        else:
            fields = [(field.name, field.schema) for field in row.fields]
        documents = frozenset(name for name, schema in fields if schema.name == JSON.name)
        identified = identifiable([name for name, _ in fields], key.index)
        return cls(tuple((name, column_type(schema)) for name, schema in fields), documents, identified)

    def texts(self, rows: Sequence[Row], names: Collection[str]) -> Iterable[bytes]:
        """The texts of rows, of some of their columns."""
        if not rows:
            return []
        values = dict(zip((name for name, _ in self.columns), zip(*rows, strict=True), strict=True))
        kinds = dict(self.columns)
        return joined(
            [
                texts(
                    pa.array(kinds[name].column(values[name])),
                    document=name in self.documents,
                    identified=name in self.identified,
                )
                for name in sorted(names)
            ]
        )
