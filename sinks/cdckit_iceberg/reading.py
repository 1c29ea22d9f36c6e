"""Mirrors as they are with the changes that wait beside them (`mirror.apply.interval.ms`)."""

from __future__ import annotations

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from cdckit import names_in
from cdckit.tables.lake.current import with_changes
from cdckit.tables.lake.deferred import KEY, SUFFIX
from cdckit.tables.lake.target import OURS
from cdckit_iceberg.version import IcebergVersion


def current_rows(catalog: Catalog, name: str) -> pa.Table:
    """The rows of a mirror as its source had them at the last batch.

    Args:
        catalog: the mirror's, as pyiceberg has it.
        name: the mirror's, with its namespace.
    """
    mirror, side = _together(catalog, name)
    if side is None:
        return with_changes(_version(mirror), None, ())
    return with_changes(_version(mirror), _version(side), names_in(side.properties.get(f"{OURS}{KEY}", "")))


def _together(catalog: Catalog, name: str) -> tuple[Table, Table | None]:
    """A mirror and its changes of one moment: none of them was merged, and forgotten, between the two looks."""
    beside = name + SUFFIX.replace("~", "__")
    mirror = catalog.load_table(name)
    while True:
        side = catalog.load_table(beside) if catalog.table_exists(beside) else None
        before, mirror = mirror, catalog.load_table(name)
        if mirror.metadata.current_snapshot_id == before.metadata.current_snapshot_id:
            return mirror, side


def _version(table: Table) -> IcebergVersion:
    return IcebergVersion(table.metadata, table.io)
