"""Heartbeat records: they tell consumers, and compacted offsets, that the source is alive."""

from __future__ import annotations

import time

from cdckit.record import Record
from cdckit.schema import INT64, STRING, struct_schema
from cdckit.struct import Struct
from cdckit_mongodb.config import MongoDbConfig

_KEY = struct_schema("io.debezium.connector.common.ServerNameKey", {"serverName": STRING}, version=1)
_VALUE = struct_schema("io.debezium.connector.common.Heartbeat", {"ts_ms": INT64}, version=1)


class Heartbeats:
    """Makes a record whenever `heartbeat.interval.ms` has passed since the last.

    Args:
        config: the source's options.
        topic: where they go.
    """

    def __init__(self, config: MongoDbConfig, topic: str) -> None:
        self._interval = config.heartbeat_interval_ms / 1000
        self._topic = topic
        self._key = Struct(_KEY, (config.topic_prefix,))
        self._next = time.monotonic() + self._interval

    def due(self) -> list[Record]:
        """A record, or none."""
        if not self._interval or time.monotonic() < self._next:
            return []
        self._next = time.monotonic() + self._interval
        now_ms = time.time_ns() // 1_000_000
        return [Record(self._topic, self._key, Struct(_VALUE, (now_ms,)), timestamp=now_ms)]
