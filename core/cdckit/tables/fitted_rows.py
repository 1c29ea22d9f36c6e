"""Rows of any definition put into the columns of their target."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from arro3.core import Array, RecordBatch, Schema

from cdckit.tables.absent import absent_names, absent_text
from cdckit.tables.arrays import STRING, array, batch_of, cast, fields_of, repeated
from cdckit.tables.definitions import Places
from cdckit.tables.layout import ABSENT, OLD_KEY

if TYPE_CHECKING:
    from arro3.core.types import ArrowArrayExportable, ArrowSchemaExportable


def moved_to(rows: ArrowArrayExportable, moved: Places) -> RecordBatch:
    """The rows by the names that their columns have in the target."""
    batch = RecordBatch.from_arrow(rows)
    named = {}
    for name, column in zip(batch.column_names, batch.columns, strict=True):
        prefix = OLD_KEY if name.startswith(OLD_KEY) else ""
        own = name.removeprefix(prefix)
        place = moved.get(own, own)
        if place is not None:
            named[prefix + place] = _renamed_absent(column, moved) if name == ABSENT else column
    return batch_of(named)


def _renamed_absent(column: Array, moved: Places) -> Array:
    def renamed(text: str | None) -> str | None:
        places = (moved.get(name, name) for name in absent_names(text))
        return absent_text([place for place in places if place is not None])

    return array([renamed(text) for text in column.to_pylist()], STRING)


def fitted(
    rows: ArrowArrayExportable, wanted: ArrowSchemaExportable, given: Mapping[str, str], tolerant: Collection[str]
) -> RecordBatch:
    """The rows with just the wanted columns.

    Args:
        rows: by the names of the target's columns.
        wanted: the columns.
        given: what rows have, as text, in columns that they lack; null in others.
        tolerant: columns in which a value of another type becomes null.
    """
    batch, schema = RecordBatch.from_arrow(rows), Schema.from_arrow(wanted)
    if batch.schema == schema:
        return batch
    names = set(batch.column_names)
    columns = [
        cast(batch.column(field.name), field.type, tolerant=field.name in tolerant)
        if field.name in names
        else repeated(given.get(field.name), field.type, batch.num_rows)
        for field in fields_of(schema)
    ]
    return RecordBatch.from_arrays(columns, schema=schema)
