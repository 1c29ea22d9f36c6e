"""The serializer `string`: values as Java shows them, which is what Kafka Connect's StringConverter writes."""

from __future__ import annotations

import base64
import codecs
from typing import Annotated, Any

from pydantic import AfterValidator

from cdckit import logical
from cdckit.api.plugin_config import PluginConfig
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct
from cdckit.connector.connect_json.decimals import number_of
from cdckit.engine.serializers.connect_moments import connect_milliseconds, date_and_year
from cdckit.engine.serializers.one_by_one import OneByOne
from cdckit.java.text import java_double


def _codec(name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        raise ValueError("should be the name of a character set, such as UTF-8") from None
    return name


class StringConfig(PluginConfig):
    """How values become texts."""

    converter_encoding: Annotated[str, AfterValidator(_codec)] = "UTF-8"
    """The character set."""


class StringSerializer(OneByOne):
    """Texts as they are, anything else as Java's `toString` shows it; bytes are base64."""

    def __init__(self, config: StringConfig) -> None:
        self._codec = codecs.lookup(config.converter_encoding).name
        self.key_form = self.value_form = self.header_form = "text" if self._codec == "utf-8" else "bytes"

    def write(self, schema: Schema | None, value: Any) -> bytes | None:
        """The text of a value; a null is no value."""
        return None if value is None else java_string(schema, value).encode(self._codec)


def java_string(schema: Schema | None, value: Any) -> str:
    """A value as `String.valueOf` shows the object that Kafka Connect holds for it.

    Args:
        schema: the value's; None where it has none.
        value: in the schema's primitive type.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer(schema, value)
    if isinstance(value, float):
        return java_double(value, "E")
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(schema, bytes(value))
    return _composite(schema, value)


def _integer(schema: Schema | None, value: int) -> str:
    milliseconds = connect_milliseconds(schema, value)
    return str(value) if milliseconds is None else _moment(milliseconds)


def _moment(milliseconds: int) -> str:
    """Milliseconds since 1970 as `java.util.Date` shows them in UTC."""
    date, year = date_and_year(milliseconds)
    return f"{date:%a %b %d %H:%M:%S} UTC {year}"


def _bytes(schema: Schema | None, value: bytes) -> str:
    if schema is None or schema.name != logical.DECIMAL_NAME:
        return base64.b64encode(value).decode("ascii")
    return str(number_of(value, int((schema.parameters or {}).get("scale", 0))))


def _composite(schema: Schema | None, value: Any) -> str:
    if isinstance(value, Struct):
        members = zip(value.schema.fields, value.values, strict=True)
        shown = (f"{field.name}={java_string(field.schema, item)}" for field, item in members if item is not None)
        return f"Struct{{{','.join(shown)}}}"
    keys, items = (None, None) if schema is None else (schema.keys, schema.items)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{java_string(keys, key)}={java_string(items, item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(java_string(items, item) for item in value)}]"
    return str(value)
