"""One change event as a CloudEvent in JSON, structured mode, attribute for attribute as Debezium has it.

Sources: CloudEvents 1.0.2, "JSON Event Format"; Debezium's documentation, "Exporting CloudEvents".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from cdckit.api.event_traits import EventTraits
from cdckit.api.schema import Schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.connector.avro_names import Adjust
from cdckit.connector.envelope import TRANSACTION_BLOCK
from cdckit.engine.serializers.json_text import TextCompiler
from cdckit.errors import TransformError

_WHOLE = ("boolean", "int8", "int16", "int32")
"""The types that a CloudEvent's attribute may have as they are; 64-bit integers become strings."""

Attributes = list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class EventParts:
    """What a CloudEvent is made of.

    Attributes:
        source: the source block.
        operation: the change's `op`.
        transaction: the transaction block, or None.
        value: the change event, or what a transform left of it.
        whole: whether all of it is the data.
        position: the record's.
        id: the event's id; None: it is made.
        type: the event's type; None: it is made.
        data_name: the name of the data's schema; None: it is made.
        tracing: attributes for tracing, between the fixed ones and the extensions.
        topic: the record's.
    """

    source: Struct
    operation: str
    transaction: Struct | None
    value: Struct
    whole: bool = False
    position: str = ""
    id: str | None = None
    type: str | None = None
    data_name: str | None = None
    tracing: tuple[tuple[str, str], ...] = ()
    topic: str = ""


@dataclass(frozen=True, slots=True)
class EventData:
    """The data of an event.

    Attributes:
        schema: the URL of their schema; "" where they hold it, or none.
        content_type: what they are.
        text: the JSON that they are in an event as JSON.
        content: they themselves, where that is no text.
    """

    schema: str
    content_type: str
    text: bytes
    content: bytes = b""


def json_data(texts: TextCompiler) -> Callable[[str, Struct], EventData]:
    """What writes data of a topic as JSON."""
    return lambda _, data: EventData("", "application/json", texts.text(data.schema)(data))


class CloudEventWriter:
    """Writes events.

    Args:
        data: writes the data of a topic's event.
        extensions: whether operation, source block and transaction become attributes.
        traits: what is particular to the events of connectors.
        adjust: what is done to the name of the data's schema.
    """

    def __init__(
        self,
        data: Callable[[str, Struct], EventData],
        *,
        extensions: bool,
        traits: Iterable[EventTraits] = (),
        adjust: Adjust = str,
    ) -> None:
        self._traits = {one.connector: one for one in traits}
        self._write_data = data
        self._extensions = extensions
        self._adjust = adjust

    def text(self, parts: EventParts) -> bytes:
        """The event as JSON.

        Raises:
            TransformError: a field of the source block cannot be an attribute, or the block is one of before
                Debezium 0.10.
        """
        attributes, data = self.event(parts)
        attributes.append(("data", orjson.Fragment(data.text)))
        return orjson.dumps(dict(attributes))

    def event(self, parts: EventParts) -> tuple[Attributes, EventData]:
        """The event's attributes, and its data.

        Raises:
            TransformError: as `text`.
        """
        if "ts_ms" not in parts.source.schema.index:
            raise TransformError("the source block has no ts_ms, which CloudEvents need: set source.struct.version=v2")
        connector, name = parts.source["connector"], parts.source["name"]
        traits = self._traits.get(connector) or EventTraits(connector)
        data = self._data(parts, traits)
        attributes: Attributes = [
            ("id", parts.id or _identifier(parts, traits.identity, name)),
            ("source", f"/debezium/{connector}/{name}"),
            ("specversion", "1.0"),
            ("type", parts.type or f"io.debezium.connector.{connector}.DataChangeEvent"),
            ("time", _time(parts.source["ts_ms"])),
            ("datacontenttype", data.content_type),
            *((("dataschema", data.schema),) if data.schema else ()),
            *parts.tracing,
        ]
        if self._extensions:
            attributes.append((_extension("op"), parts.operation))
            attributes += _extensions(parts.source.schema)(parts.source)
            attributes += _extensions(TRANSACTION_BLOCK, "tx")(parts.transaction)
        return attributes, data

    def _data(self, parts: EventParts, traits: EventTraits) -> EventData:
        value = parts.value
        name = parts.data_name or f"io.debezium.connector.{traits.connector}.Data"
        fields = None if parts.whole else traits.data
        schema, places = _data_schema(value.schema, self._adjust(name), fields)
        values = value.values
        return self._write_data(parts.topic, Struct(schema, tuple(values[place] for place in places)))


def _identifier(parts: EventParts, fields: Sequence[tuple[str, str]], name: str) -> str:
    if not fields:
        return f"name:{name};position:{parts.position}"
    return ";".join((f"name:{name}", *(f"{label}:{parts.source[field]}" for label, field in fields)))


def _time(milliseconds: int) -> str:
    """A time in RFC 3339's form."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"


def attribute_schemas(block: Schema, prefix: str = "", *, optional: bool = False) -> dict[str, Schema]:
    """The schemas of the attributes that a block becomes.

    Args:
        block: the block's.
        prefix: what stands before each of their names.
        optional: whether there may be no block.
    """
    return {
        _extension(prefix + field.name): Schema(
            field.schema.type if field.schema.type in _WHOLE else "string", optional=optional or field.schema.optional
        )
        for field in block.fields
    }


def _extension(name: str) -> str:
    """An attribute's name, which CloudEvents lets have letters and digits alone."""
    return "iodebezium" + re.sub("[^A-Za-z0-9]", "", name)


def _extensions(schema: Schema, prefix: str = "") -> Callable[[Struct | None], Attributes]:
    """The function that makes attributes of a block of this schema; all are null where there is none."""
    made: Callable[[Struct | None], Attributes] | None = schema.derived.get(("cloudevents", prefix))
    if made is not None:
        return made
    names = [_extension(prefix + field.name) for field in schema.fields]
    written = [_attribute_type(field.name, field.schema) for field in schema.fields]
    defaults = [field.schema.default for field in schema.fields]

    def attributes(block: Struct | None) -> Attributes:
        if block is None:
            return [(name, None) for name in names]
        values = (d if v is None else v for v, d in zip(block.values, defaults, strict=True))
        return [
            (name, None if value is None else write(value))
            for name, write, value in zip(names, written, values, strict=True)
        ]

    schema.derived["cloudevents", prefix] = attributes
    return attributes


def _attribute_type(name: str, schema: Schema) -> Callable[[Any], Any]:
    if schema.type in _WHOLE:
        return _same
    if schema.type in ("string", "int64"):
        return str
    raise TransformError(f"'{name}' of the source block is {schema.type}, which no CloudEvents attribute can be")


def _same(value: Any) -> Any:
    return value


def _data_schema(value: Schema, name: str, fields: Sequence[str] | None) -> tuple[Schema, tuple[int, ...]]:
    """The schema of the data, and where its fields stand in the value."""
    key = ("cloudevents.data", name, fields)
    made: tuple[Schema, tuple[int, ...]] | None = value.derived.get(key)
    if made is None:
        kept = [field for field in value.fields if fields is None or field.name in fields]
        schema = struct_schema(name, {field.name: field.schema for field in kept})
        made = value.derived[key] = schema, tuple(field.index for field in kept)
    return made
