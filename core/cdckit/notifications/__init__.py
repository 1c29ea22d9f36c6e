"""Notifications: what a source says of itself, such as how far a snapshot is, as Debezium's connectors do."""

from __future__ import annotations

from cdckit.notifications.notification import Notification
from cdckit.notifications.notifications import Notifications
from cdckit.notifications.options import NotificationOptions

__all__ = ["Notification", "NotificationOptions", "Notifications"]
