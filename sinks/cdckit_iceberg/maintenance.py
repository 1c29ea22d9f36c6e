"""What is done for a table between two commits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyiceberg.table import Table, TableProperties, Transaction

from cdckit_iceberg.branches import Branch
from cdckit_iceberg.files import SMALL_BYTES, FileWriter
from cdckit_iceberg.version import IcebergVersion

_FEWEST = 8
"""So many small files are put together, fewer are left."""


def compact(change: Transaction, now: IcebergVersion, branch: Branch) -> None:
    """Writes the rows of a table's small files anew, where there are several, without any of its deletes."""
    small = [task for task in now.tasks() if task.file.file_size_in_bytes < SMALL_BYTES]
    if len(small) < _FEWEST:
        return
    writer = FileWriter(change)
    names = tuple(now.schema().names)
    with branch.update(change, {}).overwrite() as snapshot:
        writer.exchange(snapshot, [task.file for task in small], writer.written(now.rows(small, names)))


def expire(table: Table) -> None:
    """Forgets snapshots that are older than the retention time (`history.expire.max-snapshot-age-ms`)."""
    name, usual = TableProperties.MAX_SNAPSHOT_AGE_MS, TableProperties.MAX_SNAPSHOT_AGE_MS_DEFAULT
    age = timedelta(milliseconds=int(table.properties.get(name, usual)))
    oldest = datetime.now(UTC) - age
    newest = table.current_snapshot()
    if newest is not None and any(one.timestamp_ms < oldest.timestamp() * 1000 for one in table.snapshots()):
        table.maintenance.expire_snapshots().older_than(oldest).commit()
