"""What serializers share whose schemas a registry keeps: columns of keys and values, and who is at fault."""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from cdckit.api.messages import EncodedHeaders, Form
from cdckit.api.record import Datum, Record, SchemaAndValue
from cdckit.api.schema import Field, Schema
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Path, Struct, Template, TemplateStruct
from cdckit.engine.serializers.one_by_one import MISFITS, NoOptions, SimpleSerializer
from cdckit.errors import TransformError

_MISFITS = (*MISFITS, struct.error)

Written = Any
"""A schema as the registry is given it: an Avro schema as the members of its JSON text, any other as its text."""
Write = Callable[[Any], bytes]


class Registered(NamedTuple):
    """How messages of one schema are written.

    Attributes:
        written: the schema.
        head: what stands before each message.
        headers: what is added to its headers.
    """

    written: Written
    head: bytes = b""
    headers: EncodedHeaders = ()


class Schemas(Protocol):
    """Makes the schemas that are registered."""

    def schema(self, schema: Schema) -> Written:
        """The schema of a Connect schema.

        Raises:
            ValueError: there can be none.
        """


class Compiler(Protocol):
    """Makes the functions that write."""

    def write(self, schema: Schema, written: Written, head: bytes = b"") -> Write:
        """The function for values of `schema`.

        Args:
            schema: Connect's.
            written: the registered one.
            head: what stands before each value.

        Raises:
            ValueError: such values cannot be written by that schema; the message names the field.
        """

    def filled(
        self, schema: Schema, holes: tuple[Path, ...], written: Written, head: bytes
    ) -> Callable[[Template], Write]:
        """The function for templates of `schema` with these holes: it gives the one that writes what fills them.

        Raises:
            ValueError: as `write`.
        """


class RegisteredSerializer(Serializer):
    """Keys and values in a format whose schemas a registry keeps.

    Args:
        language: the format's name, for messages.
        schemas: makes its schemas.
        compiler: makes what writes values.
    """

    header_form: Form = "text"

    def __init__(self, language: str, schemas: Schemas, compiler: Compiler) -> None:
        self.language = language
        self._headers = SimpleSerializer(NoOptions())
        self._parts: dict[str, _Part] = {part: _Part(self, part) for part in ("key", "value")}
        self.schemas = schemas
        self.compiler = compiler

    @abstractmethod
    def find(self, part: str, topic: str, written: Written) -> Registered:
        """How messages are written whose Connect schema becomes this one.

        Args:
            part: `key` or `value`.
            topic: the messages'.
            written: the schema.

        Raises:
            SinkError: the registry refuses, or cannot be reached now.
        """

    def writer(self, schema: Schema, registered: Registered) -> Write:
        """The function for keys or values that are no template's."""
        return self.compiler.write(schema, registered.written, registered.head)

    def writes_null(self, schema: Schema) -> bool:
        """Whether a null with this schema is more than the absence of a message."""
        return False

    def keys(self, records: Sequence[Record]) -> list[bytes | None]:
        """Keys with the ids of their schemas, which are registered when they first come."""
        return self._column(records, "key", [record.key for record in records])

    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        """Values, likewise."""
        return self._column(records, "value", [record.value for record in records])

    def headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """The headers as plain texts, which the converters of these formats do not write."""
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
                    f"{self.language} ({self._fault(datum) or found}); check the last transform that changed it",
                    number="CDC6201",
                )
        return TransformError(f"a {part} cannot be written as {self.language}: {error}", number="CDC6201")

    def _fault(self, datum: Datum | None) -> str:
        """The field at fault, with what is wrong; "" where it is none of them."""
        if not isinstance(datum, Struct):
            return ""
        for field, value in zip(datum.schema.fields, datum.values, strict=True):
            inner = self._fault(value)
            if inner:
                return f"{field.name}.{inner}"
            try:
                self.write_alone(field, value)
            except _MISFITS as error:
                said = str(error)
                return said if said.startswith(f"{field.name}: ") else f"{field.name}: {said}"
        return ""

    def write_alone(self, field: Field, value: Any) -> None:
        """Writes one field of a struct, to see whether that is possible.

        Raises:
            ValueError: it is not; or another error of Python's.
        """
        self.compiler.write(field.schema, self.schemas.schema(field.schema))(value)


class _Part:
    """Writes the keys, or the values."""

    def __init__(self, serializer: RegisteredSerializer, part: str) -> None:
        self._serializer = serializer
        self._part = part
        self._last: tuple[Schema | None, tuple[Path, ...], str, Callable[[Template], Write]] = None, (), "", _no_maker

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
            raise ValueError(f"it has no schema, which {self._serializer.language} wants")
        if datum.schema is None or (value is None and not self._serializer.writes_null(datum.schema)):
            return None
        return self._write(topic, datum.schema)(value)

    def _write(self, topic: str, schema: Schema) -> Write:
        made: Write | None = schema.derived.get((self, topic))
        if made is None:
            made = self._serializer.writer(schema, self.registered(topic, schema))
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
            made = template.derived[self, topic] = self._maker(topic, template)(template)
        return made

    def _maker(self, topic: str, template: Template) -> Callable[[Template], Write]:
        """What makes the functions of templates; mostly one is like the one before."""
        schema, holes, of, make = self._last
        if template.schema is schema and topic == of and template.holes == holes:
            return make
        schema, holes = template.schema, template.holes
        key = (self, "filled", holes, topic)
        if key not in schema.derived:
            written, head, _ = self.registered(topic, schema)
            schema.derived[key] = self._serializer.compiler.filled(schema, holes, written, head)
        found: Callable[[Template], Write] = schema.derived[key]
        self._last = schema, holes, topic, found
        return found


def _never(_value: Any) -> bytes:
    raise AssertionError("a schema is looked up before its first value")


def _no_maker(_template: Template) -> Write:
    raise AssertionError("no template has an empty topic and no schema")
