"""The Avro serializer: keys and values in Confluent's wire format, as its AvroConverter writes them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from cdckit.api.messages import EncodedHeaders
from cdckit.api.record import Datum, Record, SchemaAndValue
from cdckit.api.schema import Schema
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.engine.serializers.avro.binary import BinaryCompiler, Write
from cdckit.engine.serializers.avro.config import AvroConfig
from cdckit.engine.serializers.avro.registry import Registry
from cdckit.engine.serializers.avro.schemas import AvroSchemas, Written, scrubbed
from cdckit.engine.serializers.avro.subjects import subject_of
from cdckit.engine.serializers.one_by_one import MISFITS, NoOptions, SimpleSerializer
from cdckit.errors import TransformError

_HEAD = struct.Struct(">bI").pack
_MISFITS = (*MISFITS, struct.error)


class AvroSerializer(Serializer):
    """Keys and values as Avro: a zero, four bytes of the schema's id, the value."""

    header_form = "text"

    def __init__(self, config: AvroConfig) -> None:
        self._config = config
        self._headers = SimpleSerializer(NoOptions())
        self._parts = {
            "key": _Part(self, subject_of(config.key_subject_name_strategy, "key")),
            "value": _Part(self, subject_of(config.value_subject_name_strategy, "value")),
        }
        self.schemas = AvroSchemas(meta_data=config.connect_meta_data, scrub=config.scrub_invalid_names)
        self.compiler = BinaryCompiler(
            defaults=not config.ignore_default_for_nullables, names=scrubbed if config.scrub_invalid_names else str
        )
        self._ids: dict[tuple[str, str], tuple[int, Written]] = {}

    def keys(self, records: Sequence[Record]) -> list[bytes | None]:
        """The keys in Avro."""
        return self._column(records, "key", [record.key for record in records])

    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        """The values in Avro."""
        return self._column(records, "value", [record.value for record in records])

    def headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """The headers as plain texts, which Avro's converters do not write."""
        return self._headers.headers(records)

    def _column(self, records: Sequence[Record], part: str, data: list[Datum | None]) -> list[bytes | None]:
        writer = self._parts[part]
        try:
            return writer.column(records, data)
        except _MISFITS as error:
            raise self._blame(writer, records, part, data, error) from error

    def _blame(
        self, writer: _Part, records: Sequence[Record], part: str, data: list[Datum | None], error: Exception
    ) -> TransformError:
        """The error of a column, told of the one record that made it."""
        for record, datum in zip(records, data, strict=True):
            try:
                writer.column([record], [datum])
            except _MISFITS as found:
                return TransformError(
                    f"topic {record.topic}, position {record.position or 'unknown'}: the {part} cannot be written as "
                    f"Avro ({self._fault(datum) or found}); check the last transform that changed it"
                )
        return TransformError(f"a {part} cannot be written as Avro: {error}")

    def _fault(self, datum: Datum | None) -> str:
        """The field at fault, with what is wrong; "" where it is none of them."""
        if not isinstance(datum, Struct):
            return ""
        for field, value in zip(datum.schema.fields, datum.values, strict=True):
            inner = self._fault(value)
            if inner:
                return f"{field.name}.{inner}"
            try:
                self.compiler.write(field.schema, self.schemas.schema(field.schema))(value)
            except _MISFITS as error:
                return f"{field.name}: {error}"
        return ""

    @cached_property
    def _registry(self) -> Registry:
        return Registry(self._config)

    def registered(self, subject: str, written: Written) -> tuple[int, Written]:
        """The id that messages bear, and the schema by which they are written.

        Raises:
            SinkError: the registry refuses, or cannot be reached now.
        """
        key = (subject, repr(written))
        if key not in self._ids:
            self._ids[key] = self._register(subject, written)
        return self._ids[key]

    def _register(self, subject: str, written: Written) -> tuple[int, Written]:
        if self._config.auto_register_schemas:
            return self._registry.register(subject, written), written
        if self._config.use_latest_version:
            return self._registry.latest(subject)
        return self._registry.lookup(subject, written), written


class _Part:
    """Writes the keys, or the values."""

    def __init__(self, serializer: AvroSerializer, subject: Callable[[str, Written], str]) -> None:
        self._serializer = serializer
        self._subject = subject

    def column(self, records: Sequence[Record], data: list[Datum | None]) -> list[bytes | None]:
        """The column's bytes; a schema or template is looked up only when it differs from the one before."""
        schema: Schema | None = None
        template: Template | None = None
        topic = ""
        write: Write = _never
        filled: Write = _never
        out: list[bytes | None] = []
        append = out.append
        for record, datum in zip(records, data, strict=True):
            if record.topic != topic:
                topic, schema, template = record.topic, None, None
            if type(datum) is TemplateStruct:
                if datum.template is not template:
                    template = datum.template
                    filled = self._filled(topic, template)
                append(filled(datum.fills))
            elif type(datum) is Struct:
                if datum.schema is not schema:
                    schema = datum.schema
                    write = self._write(topic, schema)
                append(write(datum))
            else:
                append(None if datum is None else self._single(topic, datum))
        return out

    def _single(self, topic: str, datum: Datum) -> bytes | None:
        """A key or value that is no plain struct."""
        value = datum.value if isinstance(datum, SchemaAndValue) else datum
        if datum.schema is None and value is not None:
            raise ValueError("it has no schema, which Avro wants")
        if value is None:
            return None
        assert datum.schema is not None
        return self._write(topic, datum.schema)(value)

    def _write(self, topic: str, schema: Schema) -> Write:
        made: Write | None = schema.derived.get((self, topic))
        if made is None:
            head, written = self._described(topic, schema)
            made = self._serializer.compiler.write(schema, written, head)
            if written == "bytes" or (isinstance(written, dict) and written["type"] == "bytes"):
                made = head.__add__  # Confluent's serializer writes bytes that stand alone without their length
            schema.derived[self, topic] = made
        return made

    def _described(self, topic: str, schema: Schema) -> tuple[bytes, Written]:
        """What stands before messages of a schema, and the Avro schema by which they are written."""
        made: tuple[bytes, Written] | None = schema.derived.get((self, "avro", topic))
        if made is None:
            own = self._serializer.schemas.schema(schema)
            number, written = self._serializer.registered(self._subject(topic, own), own)
            made = schema.derived[self, "avro", topic] = _HEAD(0, number), written
        return made

    def _filled(self, topic: str, template: Template) -> Write:
        if template.derived is None:
            template.derived = {}
        made: Write | None = template.derived.get((self, topic))
        if made is None:
            key = (self, "filled", template.holes, topic)
            make: Callable[[Template], Write] | None = template.schema.derived.get(key)
            if make is None:
                head, written = self._described(topic, template.schema)
                make = self._serializer.compiler.filled(template.schema, template.holes, written, head)
                template.schema.derived[key] = make
            made = template.derived[self, topic] = make(template)
        return made


def _never(_value: Any) -> bytes:
    raise AssertionError("a schema is looked up before its first value")
