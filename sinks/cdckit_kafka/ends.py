"""Where topics end at one moment, and which of them may lose what stands before that."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from cdckit import ConfigError
from cdckit.kafka import ClientErrors, KafkaClientError, ask, open_admin, topic_settings
from cdckit_kafka.settings import CLIENT_OPTIONS, admin_settings

Ends = Mapping[str, Mapping[str, int]]
"""By topic, and by the numbers of partitions as text, as JSON has it: the offset of the next message."""


def ends_now(settings: Mapping[str, str], topics: Collection[str], seconds: float) -> Ends | None:
    """Where topics end, messages of open transactions among them; None: the brokers do not say.

    Args:
        settings: the producer's. Where it has had an acknowledgement of all replicas, its message is before the end.
        topics: their names; one that is not there has no partitions.
        seconds: how long each answer may take.
    """
    own = admin_settings(settings)
    errors = ClientErrors(CLIENT_OPTIONS, own)
    try:
        admin = open_admin(own, errors)
        there = ask(errors, admin.poll, lambda: admin.list_topics(timeout=seconds)).topics
        known = {topic: there[topic].partitions for topic in topics if topic in there}
        places = [TopicPartition(topic, number) for topic, numbers in known.items() for number in numbers]
        ends: dict[str, dict[str, int]] = {topic: {} for topic in topics}
        if places:
            latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
            asked = admin.list_offsets(dict.fromkeys(places, latest), request_timeout=seconds)
            for place, answer in asked.items():
                ends[place.topic][str(place.partition)] = answer.result(seconds).offset
    except (ConfigError, KafkaClientError, KafkaException, TimeoutError):
        return None
    return ends


def compacted(settings: Mapping[str, str], topics: Iterable[str], seconds: float) -> set[str]:
    """The topics of whose keys perhaps only the newest message stays: those that are compacted, or do not say."""
    own = admin_settings(settings)
    admin: AdminClient = open_admin(own, ClientErrors(CLIENT_OPTIONS, own))
    named = set(topics)
    found = topic_settings(admin, named, seconds)
    return {topic for topic in named if topic not in found or "compact" in found[topic].get("cleanup.policy", "")}
