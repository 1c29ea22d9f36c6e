"""One notification, and the record of it (Debezium's documentation, "Debezium notifications")."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from cdckit.api.record import Record
from cdckit.api.schema import INT64, STRING, Schema, struct_schema
from cdckit.api.struct import Struct

_KEY = struct_schema("io.debezium.connector.common.NotificationKey", {"id": STRING}, version=1)
_VALUE = struct_schema(
    "io.debezium.connector.common.Notification",
    {
        "id": STRING,
        "type": STRING,
        "aggregate_type": STRING,
        "additional_data": Schema("map", optional=True, keys=STRING, items=STRING),
        "timestamp": INT64,
    },
    version=1,
)


@dataclass(frozen=True, slots=True)
class Notification:
    """What a source says of itself.

    Attributes:
        aggregate_type: what it is about: `Initial Snapshot` or `Incremental Snapshot`.
        type: what has happened, such as `STARTED`.
        additional_data: the details.
        id: that of the signal that asked for it, or a random one.
        timestamp: when it happened, in milliseconds since 1970.
    """

    aggregate_type: str
    type: str
    additional_data: Mapping[str, str]
    id: str
    timestamp: int = field(default_factory=lambda: time.time_ns() // 1_000_000)

    def record(self, topic: str) -> Record:
        """As it stands in a topic."""
        values = (self.id, self.type, self.aggregate_type, dict(self.additional_data), self.timestamp)
        return Record(topic, Struct(_KEY, (self.id,)), Struct(_VALUE, values), timestamp=self.timestamp)
