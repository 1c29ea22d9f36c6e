"""Notifications of a snapshot that Spark's workers read: what becomes of it is known in the driver alone."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.api.notices import Notices
from cdckit.api.record import Record
from cdckit.connector.notifications.listener import ReadInPartsListener
from cdckit.connector.notifications.notifications import Notifications
from cdckit.connector.notifications.options import NotificationOptions
from cdckit.engine.config.pipeline import ResolvedPipeline

ASKED = "notifications"
"""What the planner asks the driver for: the records of those that wait."""


class SnapshotNotifications:
    """Stands before those whom a query's processes tell of a snapshot.

    Args:
        pipeline: says where notifications go.
        notices: told everything as ever.

    Attributes:
        notices: to be told instead of them.
    """

    def __init__(self, pipeline: ResolvedPipeline, notices: Notices) -> None:
        config, self.notices, self._notifications = pipeline.source_config, notices, None
        if config.reads_in_order and isinstance(config, NotificationOptions):
            self._notifications = Notifications(config, config.logical_name or pipeline.name, notices)
            self.notices = ReadInPartsListener(self._notifications, notices)

    def take(self) -> Sequence[Record]:
        """The records that wait; nobody may tell anything meanwhile."""
        return () if self._notifications is None else self._notifications.take()
