"""A record: one message as Kafka carries it, and the place in the source's log that it came from."""

from __future__ import annotations

from typing import Any, NamedTuple

from cdckit.api.schema import STRING, Schema
from cdckit.api.struct import Struct

Offset = dict[str, Any]
"""How far a source has been read: a JSON object whose members only the source understands."""

POSITION_HEADER = "__cdckit.position"
"""The header that holds a record's position; left out when `position.header` is false."""


LANE_END = "@"
"""What stands in a position behind the lane it belongs to, where a source has several lanes without a common order,
such as the partitions of a topic whose messages do not tell when they were committed. Positions of one lane sort in
commit order, and all records of one key are in one lane; those of different lanes say nothing about each other.
"""


def lane_of(position: str) -> str:
    """The lane of a position; "" where all positions of the source sort in commit order."""
    lane, end, _ = position.partition(LANE_END)
    return lane if end else ""


UNAVAILABLE_HEADER = "__cdckit.unavailable"
"""The header that names the fields of the row whose values the source's log did not carry, as `names_text` does."""


class SchemaAndValue(NamedTuple):
    """A key or value that is no struct: any Connect value with its schema (None: schemaless)."""

    schema: Schema | None
    value: Any


class Header(NamedTuple):
    """One header of a record."""

    key: str
    value: Any
    schema: Schema | None = STRING


Datum = Struct | SchemaAndValue


class Record:
    """One message: where it goes, its key and value, its headers, and its position.

    Attributes:
        topic: the topic's name.
        key: None for a table without a key.
        value: None for a tombstone.
        headers: a tuple that many records share.
        position: sorts in commit order by plain string comparison (within its lane: `LANE_END`), unique per record; ""
            when it has none.
        timestamp: milliseconds since 1970, or None.
        partition: None lets the sink choose by the key.
    """

    __slots__ = ("headers", "key", "partition", "position", "timestamp", "topic", "value")

    def __init__(
        self,
        topic: str,
        key: Datum | None,
        value: Datum | None,
        headers: tuple[Header, ...] = (),
        position: str = "",
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> None:
        self.topic = topic
        self.key = key
        self.value = value
        self.headers = headers
        self.position = position
        self.timestamp = timestamp
        self.partition = partition

    def replace(self, **changes: Any) -> Record:
        """A record like this one but for `changes`."""
        parts = {name: getattr(self, name) for name in Record.__slots__}
        return Record(**{**parts, **changes})

    def header(self, key: str) -> Header | None:
        """The last header called `key`, or None."""
        return next((header for header in reversed(self.headers) if header.key == key), None)

    def __repr__(self) -> str:
        return f"Record(topic={self.topic!r}, key={self.key!r}, value={self.value!r}, position={self.position!r})"
