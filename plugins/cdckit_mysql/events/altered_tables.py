"""What an altered table has otherwise, told by the fields of its events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdckit import DefinitionChange
from cdckit_mysql.ddl import SchemaChange
from cdckit_mysql.events.type_changes import keeps_values
from cdckit_mysql.events.versions import TableVersion
from cdckit_mysql.table import Column


def definition_change(before: TableVersion, after: TableVersion, change: SchemaChange) -> DefinitionChange:
    """The difference between two versions of a table.

    Args:
        before: the old one.
        after: the new one.
        change: what the statement says of it.
    """
    new_names = {old.lower(): new.lower() for old, new in change.renamed}
    old = {new_names.get(name, name): shown for name, shown in _columns(before).items() if name not in change.made_anew}
    gone = [field for name, (field, _) in _columns(before).items() if name in change.made_anew]
    new = _columns(after)
    kept = [(*old[name], *new[name]) for name in new if name in old]
    moved = {was: now for was, _, now, _ in kept if was != now}
    keys = _key(before), _key(after)
    retyped = [
        (now, earlier, column)
        for _, earlier, now, column in kept
        if _type(earlier) != _type(column) or column.name.lower() in change.computed
    ]
    return DefinitionChange(
        added=tuple(field for name, (field, _) in new.items() if name not in old),
        dropped=(*(field for name, (field, _) in old.items() if name not in new), *gone),
        renamed=tuple(moved.items()),
        retyped=tuple(now for now, _, _ in retyped),
        rewritten=tuple(
            now
            for now, earlier, column in retyped
            if column.name.lower() in change.computed or not keeps_values(earlier, column, strict=change.strict)
        ),
        key=None if tuple(moved.get(name, name) for name in keys[0]) == keys[1] else keys,
        comments=dict(_comments(before, after, kept)),
        unseen=tuple(new[name][0] for was, name in new_names.items() if was not in _columns(before) and name in new),
    )


Shown = tuple[str, Column]
"""A column, and its field in events."""


def _columns(version: TableVersion) -> dict[str, Shown]:
    """The columns that events show, by their names in lower case."""
    fields = version.events.row_schema.index
    return {column.name.lower(): (field, column) for field, (column, _) in zip(fields, version.shown, strict=True)}


def _key(version: TableVersion) -> tuple[str, ...]:
    schema = version.events.key_schema
    return () if schema is None else tuple(schema.index)


def _type(column: Column) -> tuple[object, ...]:
    return column.type_name, column.length, column.scale, column.charset, column.enum_values, column.optional


def _comments(
    before: TableVersion, after: TableVersion, kept: Sequence[tuple[str, Column, str, Column]]
) -> Iterator[tuple[str, str | None]]:
    if before.table.comment != after.table.comment:
        yield "", after.table.comment
    for _, earlier, field, column in kept:
        if earlier.comment != column.comment:
            yield field, column.comment
