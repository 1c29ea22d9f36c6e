"""Options: where notifications go."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from cdckit.api.lists import NameList, split_names
from cdckit.api.plugin_config import PluginConfig

_CHANNELS = ("sink", "log")
_NO_JMX = "there is no JVM and so no 'jmx'; plugins get every notification through the hook cdckit_notification"


class NotificationOptions(PluginConfig):
    """Notifications."""

    notification_enabled_channels: NameList = ""
    """Where notifications go besides the hook `cdckit_notification`: `sink` (a topic), `log`."""
    notification_sink_topic_name: str = ""
    """The topic of the channel `sink`."""

    @model_validator(mode="after")
    def _notifications(self) -> Self:
        channels = split_names(self.notification_enabled_channels)
        if channels == ("jmx",):
            raise ValueError(f"notification.enabled.channels: {_NO_JMX}")
        unknown = [name for name in channels if name not in (*_CHANNELS, "jmx")]
        if unknown:
            raise ValueError(
                f"notification.enabled.channels: '{unknown[0]}' is no channel; there are {', '.join(_CHANNELS)}"
            )
        if "sink" in channels and not self.notification_sink_topic_name:
            raise ValueError("notification.sink.topic.name is required with the notification channel 'sink'")
        return self

    def remarks(self) -> list[str]:
        """A channel that cannot be is left out beside others."""
        beside = "jmx" in split_names(self.notification_enabled_channels)
        return super().remarks() + ([f"notification.enabled.channels: {_NO_JMX}"] if beside else [])

    @property
    def notification_topic(self) -> str | None:
        """Where notifications are records, or None."""
        chosen = "sink" in split_names(self.notification_enabled_channels)
        return self.notification_sink_topic_name if chosen else None

    @property
    def logs_notifications(self) -> bool:
        """Whether the log tells of them."""
        return "log" in split_names(self.notification_enabled_channels)
