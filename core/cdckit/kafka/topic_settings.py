"""How topics are configured, as the brokers tell, and how long they keep their messages by that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

TopicSettings = Mapping[str, str]
"""A topic's settings by their names, such as `cleanup.policy`."""

FOREVER_MS = 1 << 62
"""What stands for no end of `retention.ms`."""


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


def kept_ms(settings: TopicSettings) -> int:
    """For how many milliseconds messages stay at the least; `FOREVER_MS` where no age takes them."""
    ms = int(settings.get("retention.ms", -1))
    return FOREVER_MS if ms < 0 or "delete" not in settings.get("cleanup.policy", "delete") else ms


def alter_command(servers: str, topic: str, setting: str) -> str:
    """The command by which a user gives a topic another setting.

    Args:
        servers: the brokers, as `bootstrap.servers` names them.
        topic: its name.
        setting: the name and the value: `retention.ms=604800000`.
    """
    return f"kafka-configs --bootstrap-server {servers} --alter --topic {topic} --add-config {setting}"
