"""Mirrors as they are with the changes that wait beside them (`mirror.apply.interval.ms`)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from cdckit.tables.delta.folding import KEPT, absent_columns, in_order, keys_of, newest
from cdckit.tables.delta.target import scan
from cdckit.tables.layout import OP
from cdckit_delta.deferred import KEY, SUFFIX


def current_rows(path: str, storage_options: Mapping[str, str] | None = None) -> pa.Table:
    """The rows of a mirror as its source had them at the last batch.

    Args:
        path: the mirror's folder or URL.
        storage_options: how an object store is reached, as delta-rs names it.
    """
    storage = dict(storage_options) if storage_options else None
    table = _all(DeltaTable(path, storage_options=storage))
    if not DeltaTable.is_deltatable(path + SUFFIX, storage):
        return table
    side = DeltaTable(path + SUFFIX, storage_options=storage)
    changes = in_order(_all(side))
    key = side.metadata().configuration.get(f"cdckit.{KEY}", "").split(",")
    if not changes.num_rows:
        return table
    return _merged(table, newest(changes, key, absent_columns(changes), ""), key)


def _all(table: DeltaTable) -> pa.Table:
    schema = pa.schema(table.schema())
    return pa.Table.from_batches(list(scan(table, schema)), schema)


def _merged(table: pa.Table, folded: pa.Table, key: list[str]) -> pa.Table:
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
