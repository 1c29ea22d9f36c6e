"""Avro as Apicurio's AvroConverter writes it: the schema's id in a header, or before the value."""

from __future__ import annotations

import struct

import orjson

from cdckit.engine.serializers.apicurio import ApicurioSerializer, Artifact
from cdckit.engine.serializers.avro.apicurio_config import ApicurioAvroConfig
from cdckit.engine.serializers.avro.binary import BinaryCompiler
from cdckit.engine.serializers.avro.fields import avro_fields
from cdckit.engine.serializers.avro.schemas import AvroSchemas
from cdckit.engine.serializers.avro.subjects import record_name
from cdckit.engine.serializers.field_changes import Fields
from cdckit.engine.serializers.registered import Registered, Written

_SHORT, _LONG = struct.Struct(">bI").pack, struct.Struct(">bq").pack
_ID = struct.Struct(">q").pack


class ApicurioAvroSerializer(ApicurioSerializer):
    """Keys and values as Avro; the schema's id in a header, or before the value."""

    kind = "AVRO"

    def __init__(self, config: ApicurioAvroConfig) -> None:
        super().__init__(config, "Avro", AvroSchemas(meta_data=config.connect_meta_data), BinaryCompiler())
        self._config = config
        self.use_id = config.use_id
        self.adds_headers = config.headers_enabled
        self.header_form = "bytes" if config.headers_enabled else "text"

    def content(self, written: Written) -> bytes:
        """The schema's JSON text."""
        return orjson.dumps(written)

    def fields(self, text: str) -> Fields:
        """The fields of a schema's text."""
        return avro_fields(text)

    def find(self, part: str, topic: str, written: Written) -> Registered:
        """The registry is asked once for an artifact and a schema."""
        number, by = self.numbered(self._artifact(part, topic, written), written)
        if self._config.headers_enabled:
            named = (f"apicurio.{part}.{self.use_id}", _ID(number))
            return Registered(by, headers=(named, (f"apicurio.{part}.encoding", b"BINARY")))
        return Registered(by, _SHORT(0, number) if self._config.as_confluent else _LONG(0, number))

    def _artifact(self, part: str, topic: str, written: Written) -> Artifact:
        strategy, group = self._config.strategy, self._config.group or "default"
        if strategy in ("topic", "simple.topic"):
            return self.by_topic(part, topic)
        full = record_name(written)
        space, _, name = full.rpartition(".")
        if strategy == "qualified.record":
            return group, full
        return self._config.group or space or group, name if strategy == "record" else f"{topic}-{name}"
