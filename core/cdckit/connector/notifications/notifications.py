"""Sends notifications through the channels that are enabled."""

from __future__ import annotations

import json
import logging
import uuid

from cdckit.api.notices import Notices
from cdckit.api.notification import Notification
from cdckit.api.record import Record
from cdckit.connector.notifications.options import NotificationOptions

log = logging.getLogger("cdckit.notifications")


class Notifications:
    """The notifications of one source. Those for the sink wait until the source puts them among its records.

    Args:
        config: which channels are enabled.
        name: the source's logical name, which every notification holds.
        notices: tells the plugins.

    Attributes:
        notices: the same, for what is no notification.
    """

    def __init__(self, config: NotificationOptions, name: str, notices: Notices) -> None:
        self._topic = config.notification_topic
        self._logs = config.logs_notifications
        self._name = name
        self.notices = notices
        self._waiting: list[Record] = []

    def send(self, aggregate_type: str, kind: str, identifier: str | None = None, **details: str) -> None:
        """Sends one.

        Args:
            aggregate_type: what it is about.
            kind: what has happened.
            identifier: that of the signal that asked for it.
            details: more members of `additional_data`.
        """
        data = {"connector_name": self._name, **details}
        made = Notification(aggregate_type, kind, data, identifier or str(uuid.uuid4()))
        if self._topic is not None:
            self._waiting.append(made.record(self._topic))
        if self._logs:
            log.info("%s %s: %s", aggregate_type, kind, json.dumps(data))
        self.notices.notification(made)

    def take(self) -> list[Record]:
        """The records that wait."""
        taken, self._waiting = self._waiting, []
        return taken
