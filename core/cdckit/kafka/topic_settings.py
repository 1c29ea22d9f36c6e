"""How topics are configured, as the brokers tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

TopicSettings = Mapping[str, str]
"""A topic's settings by their names, such as `cleanup.policy`."""


def topic_settings(admin: AdminClient, topics: Iterable[str], seconds: float) -> dict[str, TopicSettings]:
    """The settings of topics that there are; one that the user may not look at is left out.

    Args:
        admin: asks the brokers.
        topics: their names.
        seconds: how long an answer may take.
    """
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an optional extra
    from confluent_kafka.admin._config import ConfigResource  # noqa: PLC0415
    from confluent_kafka.admin._resource import ResourceType  # noqa: PLC0415

    wanted = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    if not wanted:
        return {}
    found: dict[str, TopicSettings] = {}
    for resource, answer in admin.describe_configs(wanted, request_timeout=seconds).items():
        try:
            found[resource.name] = {name: str(entry.value) for name, entry in answer.result(seconds).items()}
        except (KafkaException, TimeoutError):
            continue
    return found
