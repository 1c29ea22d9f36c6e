"""Mirrors as they are with the changes that wait beside them (`mirror.apply.interval.ms`)."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from cdckit import names_in
from cdckit.tables.lake.current import of_one_moment, with_changes
from cdckit.tables.lake.deferred import KEY, SUFFIX
from cdckit.tables.lake.target import OURS
from cdckit_iceberg.version import IcebergVersion


def current_rows(catalog: Catalog, name: str) -> pa.Table:
    """The rows of a mirror as its source had them at the last batch.

    Args:
        catalog: the mirror's, as pyiceberg has it.
        name: the mirror's, with its namespace.
    """
    mirror, side = of_one_moment(partial(catalog.load_table, name), partial(_beside, catalog, name), _snapshot)
    if side is None:
        return with_changes(_version(mirror), None, ())
    return with_changes(_version(mirror), _version(side), names_in(side.properties.get(f"{OURS}{KEY}", "")))


def _beside(catalog: Catalog, name: str) -> Table | None:
    beside = name + SUFFIX.replace("~", "__")
    return catalog.load_table(beside) if catalog.table_exists(beside) else None


def _snapshot(table: Table) -> int | None:
    return table.metadata.current_snapshot_id


def _version(table: Table) -> IcebergVersion:
    return IcebergVersion(table.metadata, table.io)
