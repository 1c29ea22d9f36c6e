"""Listens to what a source tells the lifecycle hooks of its snapshot, and sends the notifications of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cdckit.api.record import Batch, Offset
from cdckit.api.source import Notify
from cdckit.connector.notifications.notifications import Notifications
from cdckit.connector.notifications.snapshots import InitialSnapshotNotices


class SnapshotListener:
    """Stands before a source's `notify`.

    Args:
        notifications: sends what is told.
        notify: told everything as ever.
        besides: what is captured and not read.
    """

    def __init__(self, notifications: Notifications, notify: Notify, besides: str = "") -> None:
        self._notifications = notifications
        self._notify = notify
        self._besides = besides
        self._notices = InitialSnapshotNotices(notifications)
        self._begun: set[str] = set()
        self._taken = False

    def __call__(self, notice: str, /, **facts: Any) -> None:
        """Passes it on, and sends a notification where it is one."""
        self._notify(notice, **facts)
        if notice == "snapshot_started":
            names = list(facts["data_collections"])
            captured = sorted({*names, *filter(None, [self._besides])})
            self._notices = InitialSnapshotNotices(self._notifications, names, captured)
        elif notice == "snapshot_progress":
            self._progress(facts["data_collection"], facts["rows"], finished=facts["finished"])

    def _progress(self, name: str, rows: int, *, finished: bool) -> None:
        if name not in self._begun:
            self._begun.add(name)
            self._notices.begins(name)
        if finished:
            self._begun.remove(name)
            self._notices.scanned(name, rows)

    def snapshot(self, batches: Iterator[Batch], is_behind: Callable[[Offset], bool]) -> Iterator[Batch]:
        """The batches of a snapshot, with the notifications of it.

        Args:
            batches: they end early where the pipeline is asked to stop.
            is_behind: whether an offset lies behind the whole snapshot.
        """
        self._taken = True
        self._notices.send("STARTED")
        last: Offset = {}
        completed = False
        try:
            for batch in batches:
                last = batch.offset if batch.offset is not None else last
                batch.records = [*batch.records, *self._notifications.take()]
                yield batch
            completed = bool(last) and is_behind(last)
        finally:
            self._notices.send("COMPLETED" if completed else "ABORTED")
        if records := self._notifications.take():
            yield Batch(records, None)

    def log(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches of the log, after a word on the snapshot that was not taken."""
        if not self._taken:
            self._taken = True
            self._notices.send("SKIPPED")
        if records := self._notifications.take():
            yield Batch(records, None)
        yield from batches
