"""Heartbeat records: a source says that it is alive, also while nothing that it captures changes."""

from __future__ import annotations

import time

from cdckit.api.record import Record
from cdckit.api.schema import INT64, STRING, struct_schema
from cdckit.api.struct import Struct

_KEY = struct_schema("io.debezium.connector.common.ServerNameKey", {"serverName": STRING}, version=1)
_VALUE = struct_schema("io.debezium.connector.common.Heartbeat", {"ts_ms": INT64}, version=1)


class Heartbeats:
    """Makes Debezium's heartbeat records.

    Args:
        topic: where they go.
        server_name: the source's logical name.
        interval_ms: how often, in milliseconds; 0: never.
        versioned: whether their schemas have a version; those of Debezium 1 have none.
    """

    def __init__(self, topic: str, server_name: str, interval_ms: int, *, versioned: bool = True) -> None:
        self._topic = topic
        self._key = Struct(_KEY if versioned else _KEY.replace(version=None), (server_name,))
        self._schema = _VALUE if versioned else _VALUE.replace(version=None)
        self._interval = interval_ms / 1000
        self._next = time.monotonic() + self._interval

    def due(self) -> list[Record]:
        """The heartbeat, when it is time for one."""
        now = time.monotonic()
        if not self._interval or now < self._next:
            return []
        self._next = now + self._interval
        milliseconds = time.time_ns() // 1_000_000
        return [Record(self._topic, self._key, Struct(self._schema, (milliseconds,)), timestamp=milliseconds)]
