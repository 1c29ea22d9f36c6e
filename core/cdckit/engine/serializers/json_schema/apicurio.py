"""JSON as Apicurio's ExtJsonConverter writes it: the id of its schema, which is one of Connect's, and the value.

Source: Apicurio Registry's documentation, version 2.6: "Core Registry API" and "Kafka serializers/deserializers".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Self

import orjson
from pydantic import model_validator

from cdckit.api.messages import Form
from cdckit.api.schema import Schema
from cdckit.api.struct import Path, Template
from cdckit.connector.connect_json.schema import schema_to_json
from cdckit.engine.serializers.apicurio import ApicurioSerializer
from cdckit.engine.serializers.avro.apicurio_config import ApicurioConfig
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.engine.serializers.json_payload import PayloadCompiler
from cdckit.engine.serializers.json_text import TextCompiler
from cdckit.engine.serializers.registered import Registered, Write, Written


class ApicurioJsonConfig(ApicurioConfig):
    """How keys and values become JSON, and where their schemas are registered."""

    decimal_format: Literal["BASE64", "NUMERIC"] = "BASE64"
    """Decimals as base64 of their unscaled bytes, or as JSON numbers."""
    replace_null_with_default: bool = True
    """Write a column's default where it is null, as Kafka Connect's JsonConverter does."""

    @model_validator(mode="after")
    def _artifacts_are_named_by_topics(self) -> Self:
        if self.strategy not in ("topic", "simple.topic"):
            raise ValueError("apicurio.registry.artifact-resolver-strategy: should be topic or simple.topic")
        return self


class _Schemas:
    """Connect's own JSON of schemas."""

    def schema(self, schema: Schema) -> str:
        return orjson.dumps(schema_to_json(schema)).decode()


class _Compiler:
    """Puts the id before the value, and what ends the message behind it."""

    def __init__(self, texts: TextCompiler) -> None:
        self._texts = texts

    def write(self, schema: Schema, written: Written, head: bytes = b"") -> Write:
        text = self._texts.text(schema)
        return lambda value: b"%b%b}" % (head, text(value))

    def filled(
        self,
        schema: Schema,
        holes: tuple[Path, ...],
        written: Written,
        head: bytes,
    ) -> Callable[[Template], Write]:
        def bind(template: Template) -> Write:
            text = self._texts.filled_text(template)
            return lambda fills: b"%b%b}" % (head, text(fills))

        return bind


class ApicurioJsonSerializer(ApicurioSerializer):
    """`{"schemaId":ID,"payload":…}`, the payload as Kafka Connect's JsonConverter writes it without schemas."""

    kind = "KCONNECT"
    key_form: Form = "json"
    value_form: Form = "json"

    def __init__(self, config: ApicurioJsonConfig) -> None:
        given = {
            "decimal.format": config.decimal_format,
            "replace.null.with.default": config.replace_null_with_default,
        }
        texts = TextCompiler(PayloadCompiler(JsonConfig.model_validate(given)), with_schema=False)
        super().__init__(config, "JSON", _Schemas(), _Compiler(texts))

    def content(self, written: Written) -> bytes:
        """The schema's JSON text."""
        return str(written).encode()

    def find(self, part: str, topic: str, written: Written) -> Registered:
        """The registry is asked once for an artifact and a schema."""
        number, _ = self.numbered(self.by_topic(part, topic), written)
        return Registered(written, b'{"schemaId":%d,"payload":' % number)
