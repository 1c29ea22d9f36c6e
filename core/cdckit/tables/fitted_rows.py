"""Rows of any definition put into the columns of their target."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa

from cdckit.tables.definitions import Places
from cdckit.tables.layout import ABSENT, OLD_KEY
from cdckit.tables.types import value_of


def moved_to(rows: pa.RecordBatch, moved: Places) -> pa.RecordBatch:
    """The rows by the names that their columns have in the target."""
    named = {}
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        prefix = OLD_KEY if name.startswith(OLD_KEY) else ""
        own = name.removeprefix(prefix)
        place = moved.get(own, own)
        if place is not None:
            named[prefix + place] = _renamed_absent(column, moved) if name == ABSENT else column
    return pa.RecordBatch.from_pydict(named)


def _renamed_absent(column: pa.Array, moved: Places) -> pa.Array:
    def renamed(text: str | None) -> str | None:
        names = [moved.get(name, name) for name in (text or "").split(",") if name]
        return text and f",{','.join(name for name in names if name is not None)},"

    return pa.array([renamed(text) for text in column.to_pylist()], column.type)


def fitted(
    rows: pa.RecordBatch, wanted: pa.Schema, given: Mapping[str, str], tolerant: Collection[str]
) -> pa.RecordBatch:
    """The rows with just the wanted columns.

    Args:
        rows: by the names of the target's columns.
        wanted: the columns.
        given: what rows have, as text, in columns that they lack; null in others.
        tolerant: columns in which a value of another type becomes null.
    """
    names = set(rows.schema.names)
    columns = [
        cast(rows.column(field.name), field.type, tolerant=field.name in tolerant)
        if field.name in names
        else repeated(given.get(field.name), field.type, rows.num_rows)
        for field in wanted
    ]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def cast(column: pa.Array, kind: pa.DataType, *, tolerant: bool) -> pa.Array:
    """Values as another type; one that is none of it is an error, or null where that is tolerated."""
    if not tolerant or column.type == kind:
        return column.cast(kind)
    if _is_moment(column.type) != _is_moment(kind) and not {pa.string(), pa.large_string()} & {column.type, kind}:
        return pa.nulls(len(column), kind)  # Arrow would give the days or microseconds that it counts
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.concat_arrays([_cast_one(column.slice(row, 1), kind) for row in range(len(column))])


def _is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind))


def _cast_one(value: pa.Array, kind: pa.DataType) -> pa.Array:
    """A value of another type, or null."""
    try:
        return value.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(1, kind)


def repeated(text: str | None, kind: pa.DataType, rows: int) -> pa.Array:
    """One value for all rows."""
    if text is None:
        return pa.nulls(rows, kind)
    return pa.repeat(value_of(text, kind), rows)
