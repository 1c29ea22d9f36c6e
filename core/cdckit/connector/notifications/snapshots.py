"""What is told of snapshots, in Debezium's words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from cdckit.connector.notifications.notifications import Notifications
from cdckit.connector.snapshot_progress import SnapshotProgress

INITIAL = "Initial Snapshot"
"""What those of the snapshot before the log are about, and of blocking ones."""
ScanStatus = Literal["SUCCEEDED", "EMPTY", "NO_PRIMARY_KEY", "SKIPPED", "SQL_EXCEPTION", "UNKNOWN_SCHEMA"]
"""How the scan of a table or collection ended."""


class InitialSnapshotNotices:
    """Tells of the snapshot before the log, and of blocking ones.

    Args:
        notifications: sends them.
        scanned: the names of what is read.
        captured: the names of all that is captured; by default the same.
    """

    def __init__(
        self, notifications: Notifications, scanned: Iterable[str] = (), captured: Iterable[str] | None = None
    ) -> None:
        self._notifications = notifications
        self._scanned = ",".join(scanned)
        self._captured = self._scanned if captured is None else ",".join(captured)

    def send(self, kind: Literal["STARTED", "COMPLETED", "ABORTED", "SKIPPED"]) -> None:
        """Something has happened to the snapshot as a whole."""
        self._notifications.send(INITIAL, kind)

    def begins(self, name: str) -> None:
        """A table or collection is read now."""
        self._notifications.send(
            INITIAL,
            "IN_PROGRESS",
            data_collections=self._scanned,
            current_collection_in_progress=name,
        )

    def scanned(self, name: str, rows: int, status: ScanStatus = "SUCCEEDED") -> None:
        """A table or collection has been read, or left."""
        self._notifications.send(
            INITIAL,
            "TABLE_SCAN_COMPLETED",
            data_collections=self._captured,
            scanned_collection=name,
            total_rows_scanned=str(rows),
            status=status,
        )


class BlockingSnapshotNotices(InitialSnapshotNotices):
    """The same of a blocking snapshot, of which nobody else tells the lifecycle hooks.

    Args:
        notifications: sends them.
        scanned: the names of what is read.
    """

    def __init__(self, notifications: Notifications, scanned: Sequence[str]) -> None:
        super().__init__(notifications, scanned)
        self._names = scanned

    def started(self) -> None:
        """Tells consumers, and the engine's metrics; how many rows there are is not known."""
        self.send("STARTED")
        self._notifications.notices.snapshot_started(dict.fromkeys(self._names))

    def begins(self, name: str) -> None:
        """A table or collection is read now."""
        super().begins(name)
        self._progress = SnapshotProgress(self._notifications.notices, name, None)

    def read(self, rows: int) -> None:
        """So many more rows of it are read."""
        self._progress.read(rows)

    def ends(self, name: str, status: ScanStatus = "SUCCEEDED") -> None:
        """All of it is read, or it is left."""
        self._progress.finished()
        self.scanned(name, self._progress.rows, status)

    def completed(self) -> None:
        """All of them are read."""
        self._notifications.notices.snapshot_ended(completed=True)
        self.send("COMPLETED")


class IncrementalSnapshotNotices:
    """Tells of an incremental snapshot.

    Args:
        notifications: sends them.
    """

    def __init__(self, notifications: Notifications) -> None:
        self._notifications = notifications

    def send(
        self,
        kind: Literal["STARTED", "PAUSED", "RESUMED", "ABORTED", "COMPLETED"],
        signal: str,
        names: Iterable[str] | None = None,
    ) -> None:
        """Something has happened to the snapshot as a whole.

        Args:
            kind: what.
            signal: the id of the signal that asked for it.
            names: the tables or collections that are left, where they are told.
        """
        left = {} if names is None else {"data_collections": ",".join(names)}
        self._notifications.send("Incremental Snapshot", kind, signal, **left)

    def in_progress(self, signal: str, names: Iterable[str], current: str, key: str, last: str) -> None:
        """A chunk has been read, up to `key`; the table or collection ends at `last`."""
        self._notifications.send(
            "Incremental Snapshot",
            "IN_PROGRESS",
            signal,
            data_collections=",".join(names),
            current_collection_in_progress=current,
            maximum_key=last,
            last_processed_key=key,
        )

    def scanned(self, signal: str, names: Iterable[str], current: str, rows: int, status: ScanStatus) -> None:
        """A table or collection has been read, or cannot be."""
        self._notifications.send(
            "Incremental Snapshot",
            "TABLE_SCAN_COMPLETED",
            signal,
            data_collections=",".join(names),
            scanned_collection=current,
            total_rows_scanned=str(rows),
            status=status,
        )
