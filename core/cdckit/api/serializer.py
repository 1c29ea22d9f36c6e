"""The contract of a serializer: records to bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import orjson

from cdckit.api.messages import EncodedHeaders, Form, Messages
from cdckit.api.record import Record


class Serializer(ABC):
    """Turns keys, values and headers into bytes. It is constructed with its config model's instance alone.

    A pipeline may have keys, values and headers written by three of them; each is then asked for its part alone.

    Attributes:
        key_form: what its keys are.
        value_form: what its values are.
        header_form: what its headers are.
        adds_headers: whether keys and values that it has written add to the headers of their messages.
    """

    key_form: Form = "bytes"
    value_form: Form = "bytes"
    header_form: Form = "bytes"
    adds_headers: bool = False

    @property
    def around_position(self) -> tuple[str, str]:
        """What stands before and behind a position in a message's header, which sinks write without a serializer."""
        return "", ""

    @property
    def readable(self) -> bool:
        """Whether `read_back` reads what it writes; of JSON it does by default."""
        return (self.key_form, self.value_form) == ("json", "json")

    def read_back(self, topic: str, part: str, data: bytes) -> Any:
        """What the JSON of a key or value would say that it has written, for `cdc diff`.

        Args:
            topic: the message's.
            part: `key` or `value`.
            data: the key or value.

        Raises:
            ValueError: it has not written that.
            SinkError: what is needed for that cannot be reached.
        """
        return orjson.loads(data)

    @abstractmethod
    def keys(self, records: Sequence[Record]) -> list[bytes | None]:
        """The records' keys, None for a record without one.

        Raises:
            TransformError: a key does not fit its schema; the message names topic and field.
        """

    @abstractmethod
    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        """The records' values, None for a tombstone.

        Raises:
            TransformError: as `keys`, of a value.
        """

    @abstractmethod
    def headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """The records' headers; records that share a tuple of headers should share what is made of it.

        Raises:
            TransformError: as `keys`, of a header.
        """

    def key_headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """What keys, which have been written, add to the headers of their messages, where `adds_headers` says so."""
        return [()] * len(records)

    def value_headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """The same of values."""
        return [()] * len(records)

    def serialize(self, records: Sequence[Record]) -> Messages:
        """The batch as columns of bytes.

        Raises:
            TransformError: a part of a record does not fit its schema.
        """
        keys, values, headers = self.keys(records), self.values(records), self.headers(records)
        if self.adds_headers:
            headers = _joined(_joined(headers, self.key_headers(records)), self.value_headers(records))
        return Messages(
            topics=[r.topic for r in records],
            partitions=[r.partition for r in records],
            keys=keys,
            values=values,
            headers=headers,
            positions=[r.position for r in records],
            timestamps=[r.timestamp for r in records],
        )


def _joined(first: list[EncodedHeaders], then: list[EncodedHeaders]) -> list[EncodedHeaders]:
    """The headers of each message; neighbours that share theirs go on sharing them."""
    before: tuple[EncodedHeaders, EncodedHeaders] | None = None
    joined: EncodedHeaders = ()
    column = []
    for some, more in zip(first, then, strict=True):
        if before is None or some is not before[0] or more is not before[1]:
            before, joined = (some, more), some + more
        column.append(joined)
    return column
