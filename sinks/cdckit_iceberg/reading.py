"""Mirrors as they are with the changes that wait beside them (`mirror.apply.interval.ms`)."""

from __future__ import annotations

import pyarrow as pa
from pyiceberg.catalog import Catalog

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
    table = catalog.load_table(name)
    beside = name + SUFFIX.replace("~", "__")
    mirror = IcebergVersion(table.metadata, table.io)
    if not catalog.table_exists(beside):
        return with_changes(mirror, None, ())
    side = catalog.load_table(beside)
    key = names_in(side.properties.get(f"{OURS}{KEY}", ""))
    return with_changes(mirror, IcebergVersion(side.metadata, side.io), key)
