"""CloudEvents in Avro: their data as a message of its own, and events whose data that is."""

from __future__ import annotations

import base64

from cdckit.api.record import Record
from cdckit.api.schema import BYTES, STRING, Schema, struct_schema
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Struct
from cdckit.connector.avro_names import Adjust
from cdckit.connector.envelope import TRANSACTION_BLOCK
from cdckit.engine.serializers.avro.apicurio import ApicurioAvroSerializer
from cdckit.engine.serializers.avro.apicurio_config import ApicurioAvroConfig
from cdckit.engine.serializers.avro.config import AvroConfig
from cdckit.engine.serializers.avro.serializer import AvroSerializer
from cdckit.engine.serializers.cloud_event import (
    CloudEventWriter,
    EventData,
    EventParts,
    attribute_schemas,
)

_FIXED = ("id", "source", "specversion", "type", "time", "datacontenttype", "dataschema")


class AvroEvents:
    """Writes data, and whole events.

    Args:
        config: how Avro is written.
        name: what the schema of events is called; None: it is made of the source block.
        adjust: what is done to that name.
        extensions: whether operation, source block and transaction become attributes.
        whole: whether events are in Avro, too, so that the schema of data needs a subject besides theirs.
    """

    def __init__(
        self,
        config: AvroConfig | ApicurioAvroConfig,
        name: str | None,
        adjust: Adjust,
        *,
        extensions: bool,
        whole: bool,
    ) -> None:
        self._avro, self._schemas, self._id = _registered(config)
        self._beside = "-data" if whole else ""
        self._name = name
        self._adjust = adjust
        self._extensions = extensions

    def data(self, topic: str, data: Struct) -> EventData:
        """The data of a topic's event; their schema is that of the topic's values, or of `TOPIC-data`."""
        content = self._written(f"{topic}{self._beside}", data)
        text = b'"%b"' % base64.b64encode(content)
        number = int.from_bytes(content[self._id], "big")
        return EventData(f"{self._schemas}{number}", "application/avro", text, content)

    def event(self, writer: CloudEventWriter, parts: EventParts) -> bytes:
        """A whole event.

        Raises:
            TransformError: it cannot be written.
        """
        attributes, data = writer.event(parts)
        schema = self._schema(parts)
        return self._written(parts.topic, Struct(schema, (*(value for _, value in attributes), data.content)))

    def _written(self, topic: str, value: Struct) -> bytes:
        [written] = self._avro.values([Record(topic, None, value)])
        assert written is not None
        return written

    def _schema(self, parts: EventParts) -> Schema:
        block = parts.source.schema
        name = self._name or f"{parts.source['name']}.{parts.source.get('db')}.CloudEvents.Envelope"
        key = ("cloudevents.avro", name, self._extensions, parts.tracing != ())
        made: Schema | None = block.derived.get(key)
        if made is None:
            members = dict.fromkeys(_FIXED, STRING) | dict.fromkeys((name for name, _ in parts.tracing), STRING)
            if self._extensions:
                members["iodebeziumop"] = STRING
                members |= attribute_schemas(block) | attribute_schemas(TRANSACTION_BLOCK, "tx", optional=True)
            made = block.derived[key] = struct_schema(self._adjust(name), {**members, "data": BYTES})
        return made


def _registered(config: AvroConfig | ApicurioAvroConfig) -> tuple[Serializer, str, slice]:
    """What writes Avro, the URL of its schemas but for their ids, and where in a message the id of its own stands."""
    if isinstance(config, ApicurioAvroConfig):
        before = config.model_copy(update={"headers_enabled": False})  # data within an event have no headers
        place = slice(1, 5 if config.as_confluent else 9)
        return ApicurioAvroSerializer(before), f"{_first(config.url)}/ids/{config.use_id}s/", place
    return AvroSerializer(config), f"{_first(config.schema_registry_url)}/schemas/ids/", slice(1, 5)


def _first(urls: str) -> str:
    return urls.partition(",")[0].strip().rstrip("/")
