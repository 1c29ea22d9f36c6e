"""The serializers `bytes` and `binary`: bytes as they are.

So Kafka Connect's ByteArrayConverter and Debezium's BinaryDataConverter write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from cdckit.api.plugin_config import PluginConfig
from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Datum, Header, Record, SchemaAndValue
from cdckit.api.schema import Schema
from cdckit.api.serializer import Serializer
from cdckit.engine.serializers.inner_options import InnerOptions, as_pydantic_errors, without_prefix
from cdckit.engine.serializers.one_by_one import OneByOne
from cdckit.logical import DECIMAL_NAME

_DELEGATE = "delegate.converter.type"
_BYTES = (bytes, bytearray, memoryview)


class BytesSerializer(OneByOne):
    """Bytes as they are; nothing else."""

    def __init__(self, _config: BytesConfig) -> None:
        """A serializer without options."""

    def write(self, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes themselves.

        Raises:
            ValueError: it is something else.
        """
        if not _is_bytes(schema, value):
            kind = type(value).__name__ if schema is None else schema.name or schema.type
            raise ValueError(f"it is {kind}, and the serializer 'bytes' takes bytes alone")
        return None if value is None else bytes(value)


class BytesConfig(PluginConfig):
    """There is nothing to choose."""

    headers_by: ClassVar[str] = "simple"


class BinaryConfig(PluginConfig):
    """What writes that which is not bytes."""

    delegate_converter_type: str | None = None
    """The serializer (or its Java class) that writes whatever is not bytes; unset: that is an error."""
    delegate_options: InnerOptions = Field(default_factory=dict)
    """`delegate.converter.type.OPTION`: an option of that serializer."""

    headers_by: ClassVar[str] = "simple"
    patterns: ClassVar[Mapping[str, str]] = {r"delegate\.converter\.type\..+": "delegate_options"}

    @model_validator(mode="after")
    def _delegate_is_known(self) -> Self:
        if self.delegate_converter_type is None and self.delegate_options:
            raise ValueError(f"{_DELEGATE}: required, where its options are given")
        if self.delegate_converter_type is not None:
            with as_pydantic_errors():
                self.delegate_config  # noqa: B018 - it raises what is wrong with its options
        return self

    @property
    def delegate_config(self) -> PluginConfig:
        """The checked options of that serializer.

        Raises:
            ConfigError: it is not known, or an option of it is not.
        """
        registration = find("serializer", self.delegate_converter_type or "", _DELEGATE)
        own = without_prefix(self.delegate_options, f"{_DELEGATE}.")
        return config_model(registration).load(own, _DELEGATE)[0]


class BinarySerializer(OneByOne):
    """Bytes as they are; anything else as another serializer writes it."""

    def __init__(self, config: BinaryConfig) -> None:
        self._config = config

    @cached_property
    def _delegate(self) -> Serializer | None:
        name = self._config.delegate_converter_type
        return None if name is None else make(find("serializer", name, _DELEGATE), self._config.delegate_config)

    def write(self, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes themselves.

        Raises:
            ValueError: it is something else, and nothing else is configured for that.
        """
        if not _is_bytes(schema, value):
            kind = type(value).__name__ if schema is None else schema.name or schema.type
            raise ValueError(f"it is {kind}: {_DELEGATE} says what writes that, such as 'json'")
        return None if value is None else bytes(value)

    def part(self, record: Record, part: str, datum: Datum) -> bytes | None:
        """A key or value, by the other serializer where it is no bytes."""
        value = datum.value if isinstance(datum, SchemaAndValue) else datum
        if self._delegate is None or _is_bytes(datum.schema, value):
            return super().part(record, part, datum)
        return (self._delegate.keys([record]) if part == "key" else self._delegate.values([record]))[0]

    def header(self, record: Record, header: Header) -> bytes | None:
        """A header, by the other serializer where it is no bytes."""
        if self._delegate is None or _is_bytes(header.schema, header.value):
            return super().header(record, header)
        [[(_, written)]] = self._delegate.headers([record.replace(headers=(header,))])
        return written


def _is_bytes(schema: Schema | None, value: Any) -> bool:
    plain = schema is None or (schema.type == "bytes" and schema.name != DECIMAL_NAME)
    return plain and isinstance(value, (*_BYTES, type(None)))
