"""Branches of tables: what is written there is seen on `main` once somebody publishes it.

https://iceberg.apache.org/docs/latest/branching/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update.snapshot import ManageSnapshots, UpdateSnapshot

from cdckit import SinkError
from cdckit.tables.target import BatchId
from cdckit_iceberg.version import BATCH, ancestry, batch_of

_PARTS = ("applied", "cleared", "columns")
"""What behind an application's name counts something else than its batches."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The branch of all tables of a sink.

    Attributes:
        name: its name.
    """

    name: str = MAIN_BRANCH

    @property
    def is_main(self) -> bool:
        """Whether it is the one that is read where none is named."""
        return self.name == MAIN_BRANCH

    def seen(self, metadata: TableMetadata) -> TableMetadata:
        """A table's metadata as they are for who reads the branch; one that is not there yet has what `main` has."""
        head = metadata.snapshot_by_name(self.name)
        if self.is_main or head is None:
            return metadata
        return metadata.model_copy(update={"current_snapshot_id": head.snapshot_id})

    def update(self, change: Transaction, told: Mapping[str, str]) -> UpdateSnapshot:
        """Begins a snapshot of the branch, which is made of `main` where it is not there.

        Args:
            change: the commit's transaction.
            told: what the snapshot's summary says besides.
        """
        if not self.is_main and self.name not in change.table_metadata.refs:
            self._make(change)
        return change.update_snapshot(snapshot_properties=dict(told), branch=self.name)

    def _make(self, change: Transaction) -> None:
        if change.table_metadata.current_snapshot() is None:
            with change.update_snapshot().fast_append():
                pass  # a table's first snapshot is one of `main`, here without rows
        head = change.table_metadata.current_snapshot()
        assert head is not None
        with ManageSnapshots(change) as refs:
            refs.create_branch(head.snapshot_id, self.name)
        properties = change.table_metadata.properties
        counts = {name: text for name, text in properties.items() if name.startswith(f"{BATCH}.")}
        change.set_properties({self._counting + name.removeprefix(f"{BATCH}."): text for name, text in counts.items()})

    # -- which batches it has

    @property
    def _counting(self) -> str:
        return f"{BATCH}." if self.is_main else f"{BATCH}@{self.name}."

    def noted(self, batch: BatchId) -> dict[str, str]:
        """The property that says which batch of an application is the branch's last one."""
        return {f"{self._counting}{batch.application}": str(batch.number)}

    def version_of(self, metadata: TableMetadata, application: str) -> int | None:
        """The number of the last batch of an application; None where the branch has none.

        A branch that another one was put in the place of, as when it is published, has the batches of that one.
        """
        found = [self._noted(metadata).get(application)]
        if not self.is_main and self.name not in metadata.refs:
            found = [Branch()._noted(metadata).get(application)]
        here = (batch_of(snapshot) for snapshot in ancestry(self.seen(metadata)))
        found.append(next((one.number for one in here if one is not None and one.application == application), None))
        return max((number for number in found if number is not None), default=None)

    def _noted(self, metadata: TableMetadata) -> dict[str, int]:
        count = self._counting
        return {name[len(count) :]: int(text) for name, text in metadata.properties.items() if name.startswith(count)}

    def require(self, metadata: TableMetadata, batch: BatchId, table: object) -> None:
        """Makes sure that a branch which was dropped was published before.

        Args:
            metadata: the table's.
            batch: the one that is to be written.
            table: the table's name.

        Raises:
            SinkError: rows that were written there are nowhere.
        """
        if self.is_main or self.name in metadata.refs:
            return
        application = batch.application
        written = max(_numbers(self._noted(metadata), application), default=-1)
        of_main = ((one.application, one.number) for s in ancestry(metadata) if (one := batch_of(s)) is not None)
        if written > max(_numbers(dict(reversed([*of_main])), application), default=-1):
            raise SinkError(
                f"table {table}: its branch '{self.name}' is gone, and main lacks what was written there: make the "
                "branch anew, of main, and read the table again (cdc resnapshot FILE --table T), or begin anew "
                "(cdc offsets reset FILE)",
                number="CDC4406",
            )


def _numbers(counts: Mapping[str, int], application: str) -> Iterator[int]:
    """Those of an application's batches, and of their parts."""
    for name, number in counts.items():
        whole, _, part = name.rpartition("/")
        if name == application or (whole == application and part not in _PARTS):
            yield number


def publish(catalog: Catalog, name: str, branch: str) -> Snapshot:
    """Gives a table's `main` the rows of a branch: its head becomes the branch's, and no file is touched.

    Args:
        catalog: the table's, as pyiceberg has it.
        name: the table's, with its namespace.
        branch: what is published.

    Returns:
        the snapshot that `main` has now.

    Raises:
        ValueError: there is no such branch, or it does not go back to what `main` has, which has changed since.
        CommitFailedException: `main` is changed at the same time.
    """
    table = catalog.load_table(name)
    metadata = table.metadata
    ref = metadata.refs.get(branch)
    if ref is None or ref.snapshot_ref_type is not SnapshotRefType.BRANCH:
        raise ValueError(f"table {name} has no branch '{branch}'")
    line = [*ancestry(Branch(branch).seen(metadata))]
    main = metadata.current_snapshot()
    if main is not None and main.snapshot_id not in {snapshot.snapshot_id for snapshot in line}:
        raise ValueError(
            f"table {name}: branch '{branch}' does not go back to what main has: somebody has written to main since, "
            "or the snapshots in between have expired"
        )
    with table.manage_snapshots() as refs:
        refs.set_current_snapshot(ref_name=branch)
    return line[0]
