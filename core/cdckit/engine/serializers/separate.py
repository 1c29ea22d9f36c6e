"""Keys, values and headers written by a serializer each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdckit.api.messages import EncodedHeaders
from cdckit.api.record import Record
from cdckit.api.serializer import Serializer


class SeparateSerializer(Serializer):
    """Asks each serializer for its part.

    Args:
        keys: writes the keys.
        values: writes the values.
        headers: writes the headers.
    """

    def __init__(self, keys: Serializer, values: Serializer, headers: Serializer) -> None:
        self._keys, self._values, self._headers = keys, values, headers
        self.key_form, self.value_form = keys.key_form, values.value_form
        self.adds_headers = keys.adds_headers or values.adds_headers
        self.header_form = "bytes" if self.adds_headers else headers.header_form

    @property
    def around_position(self) -> tuple[str, str]:
        """What makes a position one of the headers."""
        return self._headers.around_position

    @property
    def readable(self) -> bool:
        """Where both are."""
        return self._keys.readable and self._values.readable

    def read_back(self, topic: str, part: str, data: bytes) -> Any:
        """By the one that has written it."""
        return (self._keys if part == "key" else self._values).read_back(topic, part, data)

    def keys(self, records: Sequence[Record]) -> list[bytes | None]:
        """By the serializer of keys."""
        return self._keys.keys(records)

    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        """By the serializer of values."""
        return self._values.values(records)

    def key_headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """What the keys add to the headers."""
        return self._keys.key_headers(records)

    def value_headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """What the values add to the headers."""
        return self._values.value_headers(records)

    def headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """By the serializer of headers."""
        return self._headers.headers(records)
