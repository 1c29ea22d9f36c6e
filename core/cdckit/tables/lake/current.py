"""Mirrors as they are with the changes that wait beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.tables.lake.folding import KEPT, absent_columns, in_order, keys_of, newest
from cdckit.tables.lake.target import Version
from cdckit.tables.layout import OP

AnyTable = TypeVar("AnyTable")


def of_one_moment(
    mirror: Callable[[], AnyTable], side: Callable[[], AnyTable | None], version: Callable[[AnyTable], object]
) -> tuple[AnyTable, AnyTable | None]:
    """A mirror and its changes of one moment: none of them was merged, and forgotten, between the two looks.

    Args:
        mirror: looks at the mirror.
        side: looks at the changes; None: there are none.
        version: tells one state of the mirror from the next.
    """
    found = mirror()
    while True:
        changes = side()
        before, found = found, mirror()
        if version(found) == version(before):
            return found, changes


def with_changes(mirror: Version, side: Version | None, key: Sequence[str]) -> pa.Table:
    """The rows of a mirror as its source had them at the last batch.

    Args:
        mirror: the mirror.
        side: the changes that wait; None: there are none.
        key: the columns that identify a row.
    """
    table = _all(mirror)
    changes = None if side is None else in_order(_all(side))
    if changes is None or not changes.num_rows:
        return table
    return _merged(table, newest(changes, key, absent_columns(changes), None), key)


def _all(version: Version) -> pa.Table:
    schema = version.schema()
    return pa.Table.from_batches(list(version.scan(schema.names)), schema)


def _merged(table: pa.Table, folded: pa.Table, key: Sequence[str]) -> pa.Table:
    """Rows of the table that have no change, and the changes that are no deletes, with the values that they keep."""
    places = {place: number for number, place in enumerate(keys_of(table, key))}
    changed = [places.get(place) for place in keys_of(folded, key)]
    mask = [True] * table.num_rows
    for number in changed:
        if number is not None:
            mask[number] = False
    old = table.take(pa.array(changed, pa.int64()))
    for name in table.schema.names:
        if KEPT + name in folded.schema.names:
            values = pc.if_else(folded.column(KEPT + name), old.column(name), folded.column(name))
            folded = folded.set_column(folded.schema.get_field_index(name), name, values)
    put = folded.filter(pc.not_equal(folded.column(OP), "d")).select(table.schema.names)
    return pa.concat_tables([table.filter(pa.array(mask, pa.bool_())), put.cast(table.schema)])
