"""The CloudEvents serializer: change events as CloudEvents in JSON, as Debezium's CloudEventsConverter writes them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from cdckit.api.messages import EncodedHeaders, Form
from cdckit.api.plugins import registrations
from cdckit.api.record import Record
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Struct
from cdckit.connector.avro_names import schema_names
from cdckit.connector.envelope import is_envelope
from cdckit.engine.serializers.cloud_event import CloudEventWriter, EventParts, json_data
from cdckit.engine.serializers.cloud_event_avro import AvroEvents
from cdckit.engine.serializers.cloud_event_headers import attribute_headers
from cdckit.engine.serializers.cloudevents_config import CloudEventsConfig
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.engine.serializers.json_payload import PayloadCompiler
from cdckit.engine.serializers.json_text import TextCompiler
from cdckit.errors import TransformError

log = logging.getLogger(__name__)

_TRACEPARENT = "traceparent"

Made = TypeVar("Made")


class CloudEventsSerializer(Serializer):
    """Values as CloudEvents, keys and headers as JSON; headers may be plain texts.

    A record that is no change event (DDL, a transaction's end, a heartbeat) has no CloudEvent: its value is null, as
    Debezium writes it, and the first of each topic is logged.
    """

    key_form: Form = "json"

    def __init__(self, config: CloudEventsConfig) -> None:
        self._config = config
        self._from_headers = config.sources
        self._json = JsonSerializer(
            JsonConfig.model_validate(
                {
                    "schemas.enable": config.schemas_enable,
                    "key.schemas.enable": config.key_schemas_enable,
                    "header.schemas.enable": config.header_schemas_enable,
                    "header.format": config.header_format,
                }
            )
        )
        data = JsonConfig.model_validate(
            {
                "decimal.format": config.json_decimal_format,
                "replace.null.with.default": config.json_replace_null_with_default,
            }
        )
        texts = TextCompiler(PayloadCompiler(data), with_schema=config.json_schemas_enable)
        adjust = schema_names(config.schema_name_adjustment_mode)
        self._avro: AvroEvents | None = None
        write_data = json_data(texts)
        if config.data_serializer_type == "avro":
            self._avro = AvroEvents(
                config.avro,
                config.schema_cloudevents_name,
                adjust,
                extensions=config.extension_attributes_enable,
                whole=config.serializer_type == "avro",
            )
            write_data = self._avro.data
        binary = config.content_mode == "binary"
        written_by = config.data_serializer_type if binary else config.serializer_type
        self.value_form: Form = "json" if written_by == "json" else "bytes"
        traits = [one for _, source in registrations("source") for one in source.events]
        self.adds_headers = binary
        self.header_form = "text" if binary else self._json.header_form
        self._headed_last: tuple[Sequence[Record], list[EncodedHeaders]] = ((), [])
        self._writer = CloudEventWriter(
            write_data,
            extensions=config.extension_attributes_enable,
            traits=traits,
            adjust=str if self._avro is None else adjust,
        )
        self._told: set[str] = set()

    @property
    def around_position(self) -> tuple[str, str]:
        """What makes a position the header that the serializer would write of it."""
        return self._json.around_position

    def keys(self, records: Sequence[Record]) -> list[bytes | None]:
        """The keys as JSON texts."""
        return self._json.keys(records)

    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        """The values as CloudEvents, or as their data."""
        if not self.adds_headers:
            return [self._value(record, self._event) for record in records]
        column = [self._value(record, self._headed) or (None, ()) for record in records]
        self._headed_last = records, [headers for _, headers in column]
        return [value for value, _ in column]

    def value_headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """The attributes of CloudEvents whose data have been written."""
        if self._headed_last[0] is not records:
            self.values(records)
        headers = self._headed_last[1]
        self._headed_last = (), []
        return headers

    def headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """The headers as JSON, or as plain texts."""
        return self._json.headers(records)

    def _event(self, parts: EventParts) -> bytes:
        """An event as one piece."""
        if self._avro is not None and self._config.serializer_type == "avro":
            return self._avro.event(self._writer, parts)
        return self._writer.text(parts)

    def _headed(self, parts: EventParts) -> tuple[bytes, EncodedHeaders]:
        """An event's data, and its attributes as headers."""
        attributes, data = self._writer.event(parts)
        return data.content or data.text, attribute_headers(attributes)

    def _value(self, record: Record, write: Callable[[EventParts], Made]) -> Made | None:
        """What is written of a record; None where it has no CloudEvent."""
        if record.value is None:
            return None
        try:
            parts = self._parts(record)
            if parts is not None:
                return write(parts)
        except (TransformError, TypeError, ValueError, AttributeError, KeyError) as error:
            raise TransformError(
                f"topic {record.topic}, position {record.position or 'unknown'}: no CloudEvent can be made of the "
                f"value ({error}); check the transforms before",
                number="CDC6201",
            ) from error
        self._tell(record)
        return None

    def _parts(self, record: Record) -> EventParts | None:
        """What the CloudEvent is made of; None where the record is no change event."""
        value = record.value
        if self._from_headers.metadata:
            source, operation = _header(record, "source"), _header(record, "op")
            if source is None or operation is None:
                return None
            transaction = _header(record, "transaction")
        elif isinstance(value, Struct) and is_envelope(value.schema):
            source, operation, transaction = value["source"], value["op"], value.get("transaction")
        else:
            return None
        if not isinstance(value, Struct):
            raise TransformError("it is no struct")
        return EventParts(
            source,
            operation,
            transaction,
            value,
            whole=self._from_headers.metadata,
            position=record.position,
            id=self._required(record, "id"),
            type=self._required(record, "type"),
            data_name=self._data_name(record),
            tracing=self._tracing(record),
            topic=record.topic,
        )

    def _required(self, record: Record, name: str) -> str | None:
        """A field that the options want from a header; None where it is to be made."""
        if name not in self._from_headers.fields:
            return None
        value: str | None = _header(record, name)
        if value is None:
            raise TransformError(f"there is no header '{name}' (metadata.source)")
        return value

    def _data_name(self, record: Record) -> str | None:
        if not self._config.schema_data_name_source_header_enable:
            return None
        return self._required(record, "dataSchemaName")

    def _tracing(self, record: Record) -> tuple[tuple[str, str], ...]:
        wanted = self._config.opentelemetry_tracing_attributes_enable
        parent = _header(record, _TRACEPARENT) if wanted else None
        return () if parent is None else ((_TRACEPARENT, parent),)

    def _tell(self, record: Record) -> None:
        if record.topic not in self._told:
            self._told.add(record.topic)
            log.warning("topic %s holds no change events: as CloudEvents their values are null", record.topic)


def _header(record: Record, name: str) -> Any:
    header = record.header(name)
    return None if header is None else header.value
