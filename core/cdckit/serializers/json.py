"""The JSON serializer: equal to Kafka Connect's JsonConverter as parsed JSON, field order included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from cdckit.errors import TransformError
from cdckit.messages import EncodedHeaders, Messages
from cdckit.record import Datum, Header, Record, SchemaAndValue
from cdckit.schema import Schema
from cdckit.serializer import Serializer
from cdckit.serializers.json_config import JsonConfig
from cdckit.serializers.json_payload import PayloadCompiler
from cdckit.serializers.json_schema import schema_to_json
from cdckit.struct import Struct

Encode = Callable[[Any], bytes]


class JsonSerializer(Serializer):
    """Keys, values and headers as JSON texts, with or without their schemas."""

    writes_json = True

    def __init__(self, config: JsonConfig) -> None:
        self.config = config
        self._compiler = PayloadCompiler(config)
        self._key = self._column(_first(config.key_schemas_enable, config.schemas_enable))
        self._value = self._column(_first(config.value_schemas_enable, config.schemas_enable))
        self._header_schemas = _first(config.value_schemas_enable, config.schemas_enable)
        self._last_headers: tuple[Header, ...] | None = None
        self._last_encoded: EncodedHeaders = ()

    def serialize(self, records: Sequence[Record]) -> Messages:
        """The batch as columns of JSON texts."""
        return Messages(
            topics=[r.topic for r in records],
            partitions=[r.partition for r in records],
            keys=self._encode_column(records, "key"),
            values=self._encode_column(records, "value"),
            headers=[self._headers(r.headers) for r in records],
            positions=[r.position for r in records],
            timestamps=[r.timestamp for r in records],
        )

    def _encode_column(self, records: Sequence[Record], part: str) -> list[bytes | None]:
        column = self._key if part == "key" else self._value
        try:
            return column([r.key for r in records] if part == "key" else [r.value for r in records])
        except (TypeError, ValueError, AttributeError) as error:
            raise self._blame(records, part, error) from error

    def _blame(self, records: Sequence[Record], part: str, error: Exception) -> TransformError:
        """The error of a column, told of the one record that made it."""
        column = self._key if part == "key" else self._value
        for record in records:
            try:
                column([getattr(record, part)])
            except (TypeError, ValueError, AttributeError) as found:
                return TransformError(
                    f"topic {record.topic}, position {record.position or 'unknown'}: the {part} does not fit its "
                    f"schema ({found}); check the last transform that changed it"
                )
        return TransformError(f"a {part} cannot be written as JSON: {error}")

    def _column(self, with_schema: bool) -> Callable[[Sequence[Datum | None]], list[bytes | None]]:
        """The function for a column; it looks a schema up only when it differs from the one before."""

        def encode(data: Sequence[Datum | None]) -> list[bytes | None]:
            dumps = orjson.dumps
            schema: Schema | None = None
            payload: Callable[[Any], Any] = _same
            before = b""
            out: list[bytes | None] = []
            append = out.append
            for datum in data:
                if datum is None:
                    append(None)
                    continue
                if datum.__class__ is not Struct:
                    append(self._single(datum, with_schema))
                    continue
                if datum.schema is not schema:
                    schema = datum.schema
                    payload, before = self._compiler.payload(schema), self._before(schema)
                text = dumps(payload(datum))
                append(b"%b%b}" % (before, text) if with_schema else text)
            return out

        return encode

    def _before(self, schema: Schema) -> bytes:
        """`{"schema":…,"payload":` of a schema, made once."""
        made: bytes | None = schema.derived.get("json.schema")
        if made is None:
            made = b'{"schema":%b,"payload":' % orjson.dumps(schema_to_json(schema))
            schema.derived["json.schema"] = made
        return made

    def _single(self, datum: Datum, with_schema: bool) -> bytes | None:
        """A key, value or header that is no plain struct."""
        schema, value = datum.schema, datum if isinstance(datum, Struct) else datum.value
        if schema is None:
            text = orjson.dumps(value)
            return b'{"schema":null,"payload":%b}' % text if with_schema else text
        text = orjson.dumps(self._compiler.payload(schema)(value))
        return b"%b%b}" % (self._before(schema), text) if with_schema else text

    def _headers(self, headers: tuple[Header, ...]) -> EncodedHeaders:
        if headers is not self._last_headers:
            self._last_encoded = tuple((h.key, self._header(h)) for h in headers)
            self._last_headers = headers
        return self._last_encoded

    def _header(self, header: Header) -> bytes | None:
        if self.config.header_format == "simple" and header.value is None:
            return None
        if self.config.header_format == "simple" and isinstance(header.value, str):
            return header.value.encode()
        if self.config.header_format == "simple":
            return self._single(_datum(header), with_schema=False)
        return self._single(_datum(header), with_schema=self._header_schemas)


def _datum(header: Header) -> Datum:
    return header.value if isinstance(header.value, Struct) else SchemaAndValue(header.schema, header.value)


def _first(given: bool | None, otherwise: bool) -> bool:
    return otherwise if given is None else given


def _same(value: Any) -> Any:
    return value
