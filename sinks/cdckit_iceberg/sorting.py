"""The order that a table's rows have in its files: https://iceberg.apache.org/spec/#sorting."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortDirection, SortField, SortOrder
from pyiceberg.table.update import (
    AddSortOrderUpdate,
    AssertDefaultSortOrderId,
    SetDefaultSortOrderUpdate,
    TableUpdate,
)
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import PrimitiveType

_HOW = {SortDirection.ASC: "ascending", SortDirection.DESC: "descending"}


def sort_order(schema: Schema, columns: Sequence[str]) -> SortOrder:
    """That of a new table, by those of some columns that it has."""
    present = {field.name: field for field in schema.fields if isinstance(field.field_type, PrimitiveType)}
    fields = [SortField(present[name].field_id, transform=IdentityTransform()) for name in columns if name in present]
    return SortOrder(*fields) if fields else UNSORTED_SORT_ORDER


def unsort(change: Transaction, gone: Collection[int]) -> None:
    """Takes columns that go, by their numbers, out of a table's order."""
    fields = _fields(change.table_metadata)
    if not any(field.source_id in gone for field in fields):
        return
    left = [field for field in fields if field.source_id not in gone]
    if not left:
        _forget_order(change)
        return
    names = _names(change.table_metadata)
    with change.update_sort_order() as update:
        for field in left:
            add = update.asc if field.direction is SortDirection.ASC else update.desc
            add(names[field.source_id], field.transform, field.null_order)


def _forget_order(change: Transaction) -> None:
    """Leaves a table without an order, which pyiceberg cannot be asked for where a table has never been without."""
    number = UNSORTED_SORT_ORDER.order_id
    updates: list[TableUpdate] = [SetDefaultSortOrderUpdate.model_validate({"sort-order-id": number})]
    if change.table_metadata.sort_order_by_id(number) is None:
        updates.insert(0, AddSortOrderUpdate.model_validate({"sort-order": UNSORTED_SORT_ORDER}))
    default = change.table_metadata.default_sort_order_id
    before = AssertDefaultSortOrderId.model_validate({"default-sort-order-id": default})
    change._apply(tuple(updates), (before,))


def in_order(rows: pa.Table, metadata: TableMetadata) -> pa.Table:
    """Rows in a table's order, as far as it has the columns."""
    names = _names(metadata)
    keys = [(names[field.source_id], _HOW[field.direction]) for field in _fields(metadata)]
    return rows.sort_by(keys) if keys else rows


def _names(metadata: TableMetadata) -> dict[int, str]:
    return {field.field_id: field.name for field in metadata.schema().fields}


def _fields(metadata: TableMetadata) -> list[SortField]:
    order, names = metadata.sort_order_by_id(metadata.default_sort_order_id), _names(metadata)
    fields = order.fields if order is not None else ()
    return [field for field in fields if field.source_id in names]
