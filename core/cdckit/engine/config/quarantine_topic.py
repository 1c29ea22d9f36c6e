"""The topic of Kafka that keeps a pipeline's quarantine, as the options say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class QuarantineTopic:
    """The options, checked.

    Attributes:
        name: the topic's.
        pipeline: whose records are meant, of those that it holds.
        servers: the brokers to ask first.
        settings: what every client is told besides, in librdkafka's words.
        replication_factor: how many replicas it gets where it is made; -1: as the broker does.
        context_headers: whether records have Kafka Connect's headers, too.
        timeout_ms: how long an answer is waited for, in milliseconds.
    """

    name: str
    pipeline: str
    servers: str
    settings: Mapping[str, str] = field(repr=False)
    replication_factor: int = -1
    context_headers: bool = False
    timeout_ms: int = 30_000
