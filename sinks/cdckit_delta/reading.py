"""Mirrors as they are with the changes that wait beside them (`mirror.apply.interval.ms`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pyarrow as pa
from deltalake import DeltaTable

from cdckit import names_in
from cdckit.tables.delta.version import DeltaVersion
from cdckit.tables.lake.current import of_one_moment, with_changes
from cdckit.tables.lake.deferred import KEY, SUFFIX


def current_rows(path: str, storage_options: Mapping[str, str] | None = None) -> pa.Table:
    """The rows of a mirror as its source had them at the last batch.

    Args:
        path: the mirror's folder or URL.
        storage_options: how an object store is reached, as delta-rs names it.
    """
    storage = dict(storage_options) if storage_options else None
    look = partial(DeltaTable, path, storage_options=storage)
    mirror, side = of_one_moment(look, partial(_beside, path, storage), DeltaTable.version)
    if side is None:
        return with_changes(DeltaVersion(mirror), None, ())
    key = names_in(side.metadata().configuration.get(f"cdckit.{KEY}", ""))
    return with_changes(DeltaVersion(mirror), DeltaVersion(side), key)


def _beside(path: str, storage: dict[str, str] | None) -> DeltaTable | None:
    waits = DeltaTable.is_deltatable(path + SUFFIX, storage)
    return DeltaTable(path + SUFFIX, storage_options=storage) if waits else None
