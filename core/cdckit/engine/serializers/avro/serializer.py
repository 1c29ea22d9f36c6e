"""The Avro serializer: keys and values as Confluent's AvroConverter writes them, and what others share with it."""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from cdckit.api.checks import Finding
from cdckit.api.messages import EncodedHeaders, Form
from cdckit.api.record import Datum, Record, SchemaAndValue
from cdckit.api.schema import Schema
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.engine.serializers.avro.binary import BinaryCompiler, Write
from cdckit.engine.serializers.avro.config import AvroConfig
from cdckit.engine.serializers.avro.connection import look
from cdckit.engine.serializers.avro.registry import Registry
from cdckit.engine.serializers.avro.schemas import AvroSchemas, Written, scrubbed
from cdckit.engine.serializers.avro.subjects import subject_of
from cdckit.engine.serializers.one_by_one import MISFITS, NoOptions, SimpleSerializer
from cdckit.errors import TransformError

_HEAD = struct.Struct(">bI").pack
_MISFITS = (*MISFITS, struct.error)


class Registered(NamedTuple):
    """How messages of one schema are written.

    Attributes:
        written: the Avro schema.
        head: what stands before each message.
        headers: what is added to its headers.
    """

    written: Written
    head: bytes = b""
    headers: EncodedHeaders = ()


class RegisteredAvro(Serializer):
    """Keys and values as Avro, whose schemas a registry keeps.

    Args:
        schemas: makes Avro schemas.
        ignore_defaults: whether a null is written where there is a default for it.
    """

    header_form: Form = "text"
    counts_bytes = True
    """Whether the length of bytes that stand alone stands before them."""

    def __init__(self, schemas: AvroSchemas, *, ignore_defaults: bool) -> None:
        self._headers = SimpleSerializer(NoOptions())
        self._parts: dict[str, _Part] = {part: _Part(self, part) for part in ("key", "value")}
        self.schemas = schemas
        self.compiler = BinaryCompiler(defaults=not ignore_defaults, names=scrubbed if schemas.scrub else str)

    @abstractmethod
    def find(self, part: str, topic: str, written: Written) -> Registered:
        """How messages are written whose Connect schema becomes this Avro schema.

        Args:
            part: `key` or `value`.
            topic: the messages'.
            written: the schema.

        Raises:
            SinkError: the registry refuses, or cannot be reached now.
        """

    def keys(self, records: Sequence[Record]) -> list[bytes | None]:
        """The keys in Avro."""
        return self._column(records, "key", [record.key for record in records])

    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        """The values in Avro."""
        return self._column(records, "value", [record.value for record in records])

    def headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """The headers as plain texts, which Avro's converters do not write."""
        return self._headers.headers(records)

    def key_headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """The headers that tell by which schemas keys are written."""
        return self._parts["key"].headers(records)

    def value_headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """The headers that tell by which schemas values are written."""
        return self._parts["value"].headers(records)

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


class AvroSerializer(RegisteredAvro):
    """Confluent's wire format: a zero, four bytes of the schema's id, the value."""

    counts_bytes = False

    def __init__(self, config: AvroConfig) -> None:
        schemas = AvroSchemas(meta_data=config.connect_meta_data, scrub=config.scrub_invalid_names)
        super().__init__(schemas, ignore_defaults=config.ignore_default_for_nullables)
        self._config = config
        self._subjects = {
            "key": subject_of(config.key_subject_name_strategy, "key"),
            "value": subject_of(config.value_subject_name_strategy, "value"),
        }
        self._ids: dict[tuple[str, str], tuple[int, Written]] = {}

    @classmethod
    def check(cls, config: AvroConfig) -> Sequence[Finding]:
        """What `cdc validate --connect` finds."""
        return [look(config.access, "/subjects")]

    def find(self, part: str, topic: str, written: Written) -> Registered:
        """The registry is asked once for a subject and a schema."""
        subject = self._subjects[part](topic, written)
        key = (subject, repr(written))
        if key not in self._ids:
            self._ids[key] = self._register(subject, written)
        number, by = self._ids[key]
        return Registered(by, _HEAD(0, number))

    @cached_property
    def _registry(self) -> Registry:
        return Registry(self._config.access, normalize=self._config.normalize_schemas)

    def _register(self, subject: str, written: Written) -> tuple[int, Written]:
        """The id that messages bear, and the schema by which they are written."""
        if self._config.auto_register_schemas:
            return self._registry.register(subject, written), written
        if self._config.use_latest_version:
            return self._registry.latest(subject)
        return self._registry.lookup(subject, written), written


class _Part:
    """Writes the keys, or the values."""

    def __init__(self, serializer: RegisteredAvro, part: str) -> None:
        self._serializer = serializer
        self._part = part

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

    def headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """What is added to the headers of records that have been written."""
        column: list[EncodedHeaders] = []
        for record in records:
            datum = record.key if self._part == "key" else record.value
            if datum is None or datum.schema is None or (isinstance(datum, SchemaAndValue) and datum.value is None):
                column.append(())
            else:
                column.append(self.registered(record.topic, datum.schema).headers)
        return column

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
            written, head, _ = self.registered(topic, schema)
            made = self._serializer.compiler.write(schema, written, head)
            if not self._serializer.counts_bytes and _are_bytes(written):
                made = head.__add__
            schema.derived[self, topic] = made
        return made

    def registered(self, topic: str, schema: Schema) -> Registered:
        """How messages of a schema are written."""
        made: Registered | None = schema.derived.get((self, "registered", topic))
        if made is None:
            made = self._serializer.find(self._part, topic, self._serializer.schemas.schema(schema))
            schema.derived[self, "registered", topic] = made
        return made

    def _filled(self, topic: str, template: Template) -> Write:
        if template.derived is None:
            template.derived = {}
        made: Write | None = template.derived.get((self, topic))
        if made is None:
            key = (self, "filled", template.holes, topic)
            make: Callable[[Template], Write] | None = template.schema.derived.get(key)
            if make is None:
                written, head, _ = self.registered(topic, template.schema)
                make = self._serializer.compiler.filled(template.schema, template.holes, written, head)
                template.schema.derived[key] = make
            made = template.derived[self, topic] = make(template)
        return made


def _are_bytes(written: Written) -> bool:
    return written == "bytes" or (isinstance(written, dict) and written["type"] == "bytes")


def _never(_value: Any) -> bytes:
    raise AssertionError("a schema is looked up before its first value")
