"""Versions of Iceberg tables: what is read of one, whatever is written meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import DataScan, FileScanTask
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from cdckit.tables.fitted_rows import fitted
from cdckit.tables.lake.arrow_types import commented
from cdckit.tables.lake.target import Version
from cdckit.tables.target import BatchId
from cdckit_iceberg.types import arrow_columns

APPLICATION = "cdckit.application"
"""What counts the batch that a snapshot is of, in the snapshot's summary."""
BATCH = "cdckit.batch"
"""The batch's number there; in a table's properties what names begin with that have the last one of an application
(`cdckit_iceberg.branches`)."""


class IcebergVersion(Version):
    """One version.

    Args:
        metadata: the table's.
        io: reads its files.
        snapshot: the version; None: the newest, by the columns that the table has now.
    """

    def __init__(self, metadata: TableMetadata, io: FileIO, snapshot: Snapshot | None = None) -> None:
        self._metadata = metadata
        self._io = io
        self._snapshot_id = None if snapshot is None else snapshot.snapshot_id
        self._snapshot = metadata.current_snapshot() if snapshot is None else snapshot

    @property
    def number(self) -> int:
        """The sequence number of the last commit."""
        return 0 if self._snapshot is None else self._snapshot.sequence_number or 0

    @property
    def has_rows(self) -> bool:
        """Whether there are files with rows."""
        return any(task.file.record_count for task in self.tasks())

    def schema(self) -> pa.Schema:
        """Its columns as Arrow has them, with their comments."""
        fields = self._scan(("*",)).projection().fields
        return pa.schema(commented(arrow_columns(fields), {field.name: field.doc or "" for field in fields}))

    def scan(self, names: Iterable[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of its rows, a file at a time."""
        return self.rows(self.tasks(), tuple(dict.fromkeys(names)))

    def tasks(self) -> list[FileScanTask]:
        """The files."""
        return list(self._scan(("*",)).plan_files())

    def rows(self, tasks: Sequence[FileScanTask], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Some columns of the rows of files, without those that deletes have removed."""
        scan = self._scan(names)
        reader = ArrowScan(self._metadata, self._io, scan.projection(), AlwaysTrue())
        whole = arrow_schema_of(self._metadata, scan)
        wanted = pa.schema([whole.field(name) for name in names])
        for task in tasks:
            for batch in reader.to_record_batches([task]):
                yield pa.record_batch(fitted(batch, wanted, {}, frozenset()))

    def _scan(self, names: tuple[str, ...]) -> DataScan:
        return DataScan(self._metadata, self._io, selected_fields=names, snapshot_id=self._snapshot_id)


def arrow_schema_of(metadata: TableMetadata, scan: DataScan | None = None) -> pa.Schema:
    """The columns of a table, or of what is read of it, as Arrow has them."""
    return arrow_columns((metadata.schema() if scan is None else scan.projection()).fields)


def last_before(metadata: TableMetadata, application: str, batch: int, applied: int | None = None) -> Snapshot | None:
    """The newest snapshot before which, and with which, there was no later batch; None: there was none yet.

    Args:
        metadata: the table's.
        application: what counts the batches.
        batch: the number of the last one that there may be.
        applied: of a mirror, the last version of the changes beside it that it may have; None: any.
    """
    found = None
    for snapshot in reversed(list(ancestry(metadata))):
        if _is_behind(batch_of(snapshot), application, batch, applied):
            return found
        found = snapshot
    return found


def _is_behind(made: BatchId | None, application: str, batch: int, applied: int | None) -> bool:
    if made is None:
        return False
    name, _, part = made.application.rpartition("/")
    if application == made.application or (application == name and part.isdecimal()):
        return made.number > batch
    return applied is not None and made.application == f"{application}/applied" and made.number > applied


def ancestry(metadata: TableMetadata) -> Iterator[Snapshot]:
    """The newest snapshot and those that it was made of, one after the other, as far as they are kept."""
    known = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    snapshot = metadata.current_snapshot()
    while snapshot is not None:
        yield snapshot
        snapshot = known.get(snapshot.parent_snapshot_id or 0)


def batch_of(snapshot: Snapshot) -> BatchId | None:
    """The batch that a snapshot is of; None: of none."""
    told = {} if snapshot.summary is None else snapshot.summary.additional_properties
    return BatchId(told[APPLICATION], int(told[BATCH])) if APPLICATION in told else None
