"""Listens to what a source tells the lifecycle hooks of its snapshot, and sends the notifications of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from cdckit.api.notices import Notices, PassedNotices
from cdckit.api.record import Batch, Offset
from cdckit.connector.notifications.notifications import Notifications
from cdckit.connector.notifications.snapshots import InitialSnapshotNotices


class SnapshotListener(PassedNotices):
    """Stands before those whom a source tells.

    Args:
        notifications: sends what is told.
        notices: told everything as ever.
        besides: what is captured and not read.
    """

    def __init__(self, notifications: Notifications, notices: Notices, besides: str = "") -> None:
        super().__init__(notices)
        self._notifications = notifications
        self._besides = besides
        self._snapshot = InitialSnapshotNotices(notifications)
        self._begun: set[str] = set()
        self._taken = False

    def snapshot_started(self, data_collections: Mapping[str, int | None]) -> None:
        """Notes what is read."""
        super().snapshot_started(data_collections)
        self._taken = True
        captured = sorted({*data_collections, *filter(None, [self._besides])})
        self._snapshot = InitialSnapshotNotices(self._notifications, data_collections, captured)

    def snapshot_progress(self, data_collection: str, rows: int, estimate: int | None, finished: bool) -> None:
        """Sends a notification where a table begins or ends."""
        super().snapshot_progress(data_collection, rows, estimate, finished)
        if data_collection not in self._begun:
            self._begun.add(data_collection)
            self._snapshot.begins(data_collection)
        if finished:
            self._begun.remove(data_collection)
            self._snapshot.scanned(data_collection, rows)

    def snapshot(self, batches: Iterator[Batch], is_behind: Callable[[Offset], bool]) -> Iterator[Batch]:
        """The batches of a snapshot, with the notifications of it.

        Args:
            batches: they end early where the pipeline is asked to stop.
            is_behind: whether an offset lies behind the whole snapshot.
        """
        self._taken = True
        self._snapshot.send("STARTED")
        last: Offset = {}
        completed = False
        try:
            for batch in batches:
                last = batch.offset if batch.offset is not None else last
                batch.records = [*batch.records, *self._notifications.take()]
                yield batch
            completed = bool(last) and is_behind(last)
        finally:
            self._snapshot.send("COMPLETED" if completed else "ABORTED")
        if records := self._notifications.take():
            yield Batch(records, None)

    def log(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches of the log, after a word on the snapshot that was not taken."""
        if not self._taken:
            self._taken = True
            self._snapshot.send("SKIPPED")
        if records := self._notifications.take():
            yield Batch(records, None)
        yield from batches


class ReadElsewhereListener(SnapshotListener):
    """The same where others read the snapshot's rows, in several processes: they tell of its begin and end alone."""

    def snapshot_started(self, data_collections: Mapping[str, int | None]) -> None:
        """Sends the first notification."""
        super().snapshot_started(data_collections)
        self._snapshot.send("STARTED")

    def snapshot_ended(self, completed: bool) -> None:
        """Sends the last one."""
        super().snapshot_ended(completed)
        self._snapshot.send("COMPLETED" if completed else "ABORTED")
