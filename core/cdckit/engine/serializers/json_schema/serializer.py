"""The JSON Schema serializer: keys and values as Confluent's JsonSchemaConverter writes them."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from cdckit.api.schema import Schema
from cdckit.api.struct import Path, Template
from cdckit.engine.serializers.avro.registry import Found
from cdckit.engine.serializers.confluent import ConfluentSerializer
from cdckit.engine.serializers.field_changes import Fields
from cdckit.engine.serializers.json_schema.config import JsonSchemaConfig
from cdckit.engine.serializers.json_schema.fields import json_fields
from cdckit.engine.serializers.json_schema.fitting import misfit
from cdckit.engine.serializers.json_schema.payloads import JsonSchemaPayloads
from cdckit.engine.serializers.json_schema.schemas import JsonSchemas
from cdckit.engine.serializers.json_schema.text import message
from cdckit.engine.serializers.json_text import TextCompiler
from cdckit.engine.serializers.registered import Write, Written


class JsonCompiler:
    """Makes the functions that write; the registered schema has no say in it."""

    def __init__(self, texts: TextCompiler) -> None:
        self._texts = texts

    def write(self, schema: Schema, written: Written, head: bytes = b"") -> Write:
        """The function for values of `schema`, behind `head`."""
        text = self._texts.text(schema)
        if schema.optional and schema.type == "struct":
            return lambda value: head + (b"null" if value is None else text(value))
        return lambda value: head + text(value)

    def filled(
        self,
        schema: Schema,
        holes: tuple[Path, ...],
        written: Written,
        head: bytes,
    ) -> Callable[[Template], Write]:
        """The function for templates: it gives the one that writes what fills their holes."""

        def bind(template: Template) -> Write:
            text = self._texts.filled_text(template)
            return lambda fills: head + text(fills)

        return bind


class JsonSchemaSerializer(ConfluentSerializer):
    """Confluent's wire format: a zero, four bytes of the schema's id, the JSON text."""

    kind = "JSON"

    def __init__(self, config: JsonSchemaConfig) -> None:
        payloads = JsonSchemaPayloads(config)
        schemas = JsonSchemas(
            payloads, additional=config.object_additional_properties, general=config.generalized_sum_type_support
        )
        texts = TextCompiler(payloads, with_schema=False, dumps=message)
        super().__init__(config, "JSON Schema", schemas, JsonCompiler(texts))

    def text(self, written: Written) -> str:
        """The schema's JSON text."""
        return str(written)

    def fields(self, text: str) -> Fields:
        """The fields of a schema's text."""
        return json_fields(text)

    def name(self, written: Written) -> str:
        """The schema's title."""
        title = orjson.loads(written).get("title")
        if title is None:
            raise ValueError("its schema has no title, so it has no name: choose the subject name strategy 'topic'")
        return str(title)

    def latest(self, found: Found, written: Written) -> Written:
        """The record's own schema, once it fits the subject's latest one."""
        if self._config.strict:
            others = {name: orjson.loads(text) for name, text in found.references}
            fault = misfit(orjson.loads(written), orjson.loads(found.text), others)
            if fault is not None:
                option = "latest" if self._config.use_schema_id < 0 else "id"
                raise ValueError(f"{fault}; {option}.compatibility.strict=false writes it all the same")
        return written

    def writes_null(self, schema: Schema) -> bool:
        """A null that the schema allows is a message of its own, as there."""
        return schema.optional or schema.default is not None
