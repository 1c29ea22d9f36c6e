"""What serializers share that write each key, value and header by itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from cdckit.api.messages import EncodedHeaders
from cdckit.api.plugin_config import PluginConfig
from cdckit.api.record import Datum, Header, Record, SchemaAndValue
from cdckit.api.schema import Schema
from cdckit.api.serializer import Serializer
from cdckit.engine.serializers.simple_text import simple_text
from cdckit.errors import TransformError

MISFITS = (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError)
"""What is raised for a value that does not fit its schema."""


def misfit(record: Record, part: str, error: Exception) -> TransformError:
    """The error for a part of a record that cannot be written."""
    return TransformError(
        f"topic {record.topic}, position {record.position or 'unknown'}: the {part} cannot be written ({error})",
        number="CDC6201",
    )


class NoOptions(PluginConfig):
    """There is nothing to choose."""


class OneByOne(Serializer):
    """Writes each part as `write` says, whichever part it is."""

    @abstractmethod
    def write(self, schema: Schema | None, value: Any) -> bytes | None:
        """One key, value or header.

        Raises:
            ValueError: it cannot be written; the message says why.
        """

    def keys(self, records: Sequence[Record]) -> list[bytes | None]:
        """The keys, each by itself."""
        return [self._of(record, "key", record.key) for record in records]

    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        """The values, each by itself."""
        return [self._of(record, "value", record.value) for record in records]

    def headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """The headers, each by itself."""
        last: tuple[Header, ...] | None = None
        encoded: EncodedHeaders = ()
        column = []
        for record in records:
            if record.headers is not last:
                last = record.headers
                encoded = tuple((header.key, self.header(record, header)) for header in last)
            column.append(encoded)
        return column

    def _of(self, record: Record, part: str, datum: Datum | None) -> bytes | None:
        return None if datum is None else self.part(record, part, datum)

    def part(self, record: Record, part: str, datum: Datum) -> bytes | None:
        """A key or a value.

        Raises:
            TransformError: it cannot be written.
        """
        try:
            return self.write(datum.schema, datum.value if isinstance(datum, SchemaAndValue) else datum)
        except MISFITS as error:
            raise misfit(record, part, error) from error

    def header(self, record: Record, header: Header) -> bytes | None:
        """A header.

        Raises:
            TransformError: it cannot be written.
        """
        try:
            return self.write(header.schema, header.value)
        except MISFITS as error:
            raise misfit(record, f"header '{header.key}'", error) from error


class SimpleSerializer(OneByOne):
    """Plain texts, as Kafka Connect's SimpleHeaderConverter writes headers."""

    key_form = value_form = header_form = "text"

    def __init__(self, _config: NoOptions) -> None:
        """A serializer without options."""

    def write(self, schema: Schema | None, value: Any) -> bytes | None:
        """The text of a value; a null is no value."""
        return None if value is None else simple_text(schema, value).encode()
