"""Notifications: what a source says of itself, such as how far a snapshot is, as Debezium's connectors do."""

from __future__ import annotations

from cdckit.api.notification import Notification
from cdckit.connector.notifications.notifications import Notifications
from cdckit.connector.notifications.options import NotificationOptions

__all__ = ["Notification", "NotificationOptions", "Notifications"]
