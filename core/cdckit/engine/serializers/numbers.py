"""The serializers of one type of number each, and of booleans: Kafka Connect's converters of these names."""

from __future__ import annotations

import struct
from typing import Any, ClassVar

from cdckit import logical
from cdckit.api.plugin_config import PluginConfig
from cdckit.api.schema import Schema
from cdckit.engine.serializers.one_by_one import OneByOne

_OTHERS = frozenset({logical.CONNECT_DATE.name, logical.CONNECT_TIME.name, logical.CONNECT_TIMESTAMP.name})
"""Types whose values are no numbers in Java, but dates."""


class NumberConfig(PluginConfig):
    """There is nothing to choose."""

    headers_by: ClassVar[str] = "simple"


class _NumberSerializer(OneByOne):
    """Values of one type, which is that of their schema; a null is no value.

    Attributes:
        kind: the type of Connect's schemas.
        format: `struct`'s name of it.
        python: of which class a value without a schema is; None: such a value is refused, as in Java.
    """

    kind: ClassVar[str]
    format: ClassVar[str]
    python: ClassVar[type[Any] | None] = None

    def __init__(self, _config: NumberConfig) -> None:
        self._pack = struct.Struct(self.format).pack

    def write(self, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes of a number, the highest first.

        Raises:
            ValueError: it is of another type.
        """
        if value is None and self._takes_null(schema):
            return None
        fits = type(value) is self.python if schema is None else schema.type == self.kind and schema.name not in _OTHERS
        if not fits:
            found = type(value).__name__ if schema is None else schema.name or schema.type
            raise ValueError(f"it is {found}, and this serializer takes {self.kind} alone")
        try:
            return self._pack(value)
        except struct.error as error:
            raise ValueError(f"{value!r} is no {self.kind}: {error}") from error

    def _takes_null(self, schema: Schema | None) -> bool:
        """Whether a null may have such a schema."""
        return True


class ShortSerializer(_NumberSerializer):
    """Two bytes."""

    kind, format = "int16", ">h"


class IntegerSerializer(_NumberSerializer):
    """Four bytes."""

    kind, format = "int32", ">i"


class LongSerializer(_NumberSerializer):
    """Eight bytes."""

    kind, format, python = "int64", ">q", int


class FloatSerializer(_NumberSerializer):
    """Four bytes, as IEEE 754 has them."""

    kind, format = "float32", ">f"


class DoubleSerializer(_NumberSerializer):
    """Eight bytes, as IEEE 754 has them."""

    kind, format, python = "float64", ">d", float


class BooleanSerializer(_NumberSerializer):
    """A byte, 1 or 0."""

    kind, format, python = "boolean", ">?", bool

    def _takes_null(self, schema: Schema | None) -> bool:
        return schema is None or schema.type == self.kind
