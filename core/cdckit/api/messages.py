"""A batch of records as bytes, column by column: what a serializer gives and a sink takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, Self

Form = Literal["json", "text", "bytes"]
"""What bytes are: JSON texts, which may stand in JSON as they are; other texts in UTF-8; anything."""

EncodedHeaders = tuple[tuple[str, bytes | None], ...]


@dataclass(slots=True)
class Messages:
    """The columns of one batch; all lists have the same length.

    Attributes:
        topics: each message's topic.
        partitions: None lets the sink choose by the key.
        keys: None for a record without a key.
        values: None for a tombstone.
        headers: without the position header; many messages share one tuple.
        positions: the position header's text; "" where the message has none.
        timestamps: milliseconds since 1970, or None.
    """

    topics: list[str]
    partitions: list[int | None]
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[EncodedHeaders]
    positions: list[str]
    timestamps: list[int | None]

    def __len__(self) -> int:
        return len(self.topics)

    def part(self, start: int, end: int) -> Messages:
        """The messages from `start` up to `end`."""
        return Messages(**{column.name: getattr(self, column.name)[start:end] for column in fields(self)})

    @classmethod
    def joined(cls, parts: Sequence[Messages]) -> Self:
        """The messages of all parts, one behind the other."""
        return cls(**{column.name: [m for part in parts for m in getattr(part, column.name)] for column in fields(cls)})
