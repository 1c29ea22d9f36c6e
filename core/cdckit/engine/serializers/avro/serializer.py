"""The Avro serializer: keys and values as Confluent's AvroConverter writes them."""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import orjson

from cdckit.api.schema import Schema
from cdckit.engine.serializers.avro.binary import BinaryCompiler
from cdckit.engine.serializers.avro.config import AvroConfig
from cdckit.engine.serializers.avro.fields import avro_fields
from cdckit.engine.serializers.avro.references import whole
from cdckit.engine.serializers.avro.registry import Found
from cdckit.engine.serializers.avro.schemas import AvroSchemas, scrubbed
from cdckit.engine.serializers.avro.subjects import record_name
from cdckit.engine.serializers.confluent import ConfluentSerializer
from cdckit.engine.serializers.field_changes import Fields
from cdckit.engine.serializers.registered import Registered, Write, Written

if TYPE_CHECKING:
    from cdckit.engine.serializers.avro.reading import AvroReader


class AvroSerializer(ConfluentSerializer):
    """Confluent's wire format: a zero, four bytes of the schema's id, the value."""

    kind = "AVRO"

    def __init__(self, config: AvroConfig) -> None:
        schemas = AvroSchemas(
            meta_data=config.connect_meta_data,
            scrub=config.scrub_invalid_names,
            optional_keys=config.allow_optional_map_keys,
            field_docs=config.discard_type_doc_default,
        )
        compiler = BinaryCompiler(
            defaults=not config.ignore_default_for_nullables,
            names=scrubbed if config.scrub_invalid_names else str,
            narrows=not config.strict,
        )
        super().__init__(config, "Avro", schemas, compiler)

    def text(self, written: Written) -> str:
        """The schema's JSON text."""
        return orjson.dumps(written).decode()

    def fields(self, text: str) -> Fields:
        """The fields of a schema's text."""
        return avro_fields(text)

    def name(self, written: Written) -> str:
        """The full name of a record's schema."""
        return record_name(written)

    def latest(self, found: Found, written: Written) -> Written:
        """The subject's latest schema, with those that it refers to in it."""
        return whole(orjson.loads(found.text), [orjson.loads(text) for _, text in found.references])

    @property
    def readable(self) -> bool:
        """Where the package fastavro is."""
        return find_spec("fastavro") is not None

    def read_back(self, topic: str, part: str, data: bytes) -> Any:
        """By the schema that the message names."""
        return self._reader.read(f"{topic}-{part}", data)

    @cached_property
    def _reader(self) -> AvroReader:
        from cdckit.engine.serializers.avro.reading import AvroReader  # noqa: PLC0415 - it needs an extra

        return AvroReader(self.text_of)

    def writer(self, schema: Schema, registered: Registered) -> Write:
        """Bytes that stand alone have no length before them."""
        if _are_bytes(registered.written):
            return registered.head.__add__
        return super().writer(schema, registered)


def _are_bytes(written: Written) -> bool:
    return written == "bytes" or (isinstance(written, dict) and written["type"] == "bytes")
