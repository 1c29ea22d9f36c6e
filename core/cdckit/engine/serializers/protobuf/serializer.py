"""The Protobuf serializer: keys and values as Confluent's ProtobufConverter writes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cdckit.api.schema import Field, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.serializers.avro.numbers import long_bytes
from cdckit.engine.serializers.avro.registry import Found
from cdckit.engine.serializers.confluent import ConfluentSerializer
from cdckit.engine.serializers.field_changes import Fields
from cdckit.engine.serializers.protobuf.binary import ProtobufCompiler
from cdckit.engine.serializers.protobuf.config import ProtobufConfig
from cdckit.engine.serializers.protobuf.fields import protobuf_fields
from cdckit.engine.serializers.protobuf.fitting import place
from cdckit.engine.serializers.protobuf.messages import ProtobufFile
from cdckit.engine.serializers.protobuf.reading import read
from cdckit.engine.serializers.protobuf.schemas import ProtobufSchemas
from cdckit.engine.serializers.registered import Registered


class ProtobufSerializer(ConfluentSerializer):
    """Confluent's wire format: a zero, four bytes of the schema's id, the message's place in it, the message."""

    kind = "PROTOBUF"

    def __init__(self, config: ProtobufConfig) -> None:
        schemas = ProtobufSchemas(
            wrappers=config.wrapper_for_nullables,
            optionals=config.optional_for_nullables,
            scrub=config.scrub_invalid_names,
        )
        compiler = ProtobufCompiler(schemas, defaults=not config.ignore_default_for_nullables)
        super().__init__(config, "Protobuf", schemas, compiler)

    def find(self, part: str, topic: str, written: ProtobufFile) -> Registered:
        """The message's place stands behind the id: how long its path is, and the path; a zero for the first one."""
        found = super().find(part, topic, written)
        index = found.written.index
        path = long_bytes(1) + long_bytes(index) if index else long_bytes(0)
        return found._replace(head=found.head + path)

    def text(self, written: ProtobufFile) -> str:
        """The `.proto` file, as the registry keeps it."""
        return written.text

    def fields(self, text: str) -> Fields:
        """The fields of a schema's text."""
        return protobuf_fields(text)

    def name(self, written: ProtobufFile) -> str:
        """The message's full name."""
        return written.name

    def latest(self, found: Found, written: ProtobufFile) -> ProtobufFile:
        """The record's own schema, with its message's place in the subject's latest one, which has to read it."""
        try:
            return replace(written, place=place(written, read(found.text)))
        except ValueError as error:
            raise ValueError(f"{error}: register the record's schema, or set use.latest.version=false") from error

    def write_alone(self, field: Field, value: Any) -> None:
        """As the only field of a message: there is no Protobuf of a value by itself."""
        alone = struct_schema(None, {field.name: field.schema})
        self.compiler.write(alone, self.schemas.schema(alone))(Struct(alone, (value,)))
