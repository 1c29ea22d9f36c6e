"""Listens to what a source tells the lifecycle hooks of its snapshot, and sends the notifications of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from cdckit.api.batch import Batch
from cdckit.api.notices import Notices, PassedNotices
from cdckit.api.notification import Notification
from cdckit.api.record import Offset
from cdckit.connector.notifications.notifications import Notifications
from cdckit.connector.notifications.snapshots import INITIAL, InitialSnapshotNotices

_LAST = ("COMPLETED", "ABORTED", "SKIPPED")


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
        self._taken = self._sends = False

    def snapshot_started(self, data_collections: Mapping[str, int | None]) -> None:
        """Notes what is read."""
        super().snapshot_started(data_collections)
        self._taken = True
        captured = sorted({*data_collections, *filter(None, [self._besides])})
        self._snapshot = InitialSnapshotNotices(self._notifications, data_collections, captured)

    def snapshot_progress(self, data_collection: str, rows: int, estimate: int | None, finished: bool) -> None:
        """Sends a notification where a table begins or ends; of tables that are read in parts others do."""
        super().snapshot_progress(data_collection, rows, estimate, finished)
        if not self._sends:
            return
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
        self._taken = self._sends = True
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
            self._sends = False
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


class ReadInPartsListener(SnapshotListener):
    """The same where a snapshot is read in parts, perhaps by several processes: its begin and end are told alone.

    Of what a source reads as a whole, such as a blocking snapshot, it sends the notifications itself.
    """

    def __init__(self, notifications: Notifications, notices: Notices) -> None:
        super().__init__(notifications, notices)
        self._is_sent = False
        """Whether the source sends those of the snapshot that goes on."""

    def notification(self, notification: Notification) -> None:
        """Passes on what the source sends."""
        super().notification(notification)
        if notification.aggregate_type == INITIAL:
            self._is_sent = notification.type not in _LAST

    def snapshot_started(self, data_collections: Mapping[str, int | None]) -> None:
        """Sends the first notification; before that the last one of a snapshot that begins anew."""
        if self._is_sent:
            self._passed_to.snapshot_started(data_collections)
            return
        if self._sends:
            self._snapshot.send("ABORTED")
        self._sends = True
        self._begun.clear()
        super().snapshot_started(data_collections)
        self._snapshot.send("STARTED")

    def snapshot_progress(self, data_collection: str, rows: int, estimate: int | None, finished: bool) -> None:
        """A table begins with its first row: all of them are told of when they are planned."""
        if rows or finished:
            super().snapshot_progress(data_collection, rows, estimate, finished)
        else:
            self._passed_to.snapshot_progress(data_collection, rows, estimate, finished)

    def snapshot_ended(self, completed: bool) -> None:
        """Sends the last one."""
        super().snapshot_ended(completed)
        if self._sends:
            self._sends = False
            self._snapshot.send("COMPLETED" if completed else "ABORTED")
