"""Values as Confluent's JsonSchemaConverter writes them: where they differ from Kafka Connect's own JSON."""

from __future__ import annotations

from typing import Any

import orjson

from cdckit import logical
from cdckit.api.schema import Schema
from cdckit.connector.connect_json.decimals import number_of
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.engine.serializers.json_payload import FLOAT_TYPES, Payload, PayloadCompiler
from cdckit.engine.serializers.json_schema.config import JsonSchemaConfig
from cdckit.engine.serializers.json_schema.text import number

ONE_OF = "io.confluent.connect.json.OneOf"


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for the one of its fields that has a value."""
    return schema.type == "struct" and (schema.name == ONE_OF or logical.UNION_NAME in (schema.parameters or ()))


def scale_of(schema: Schema) -> int:
    """The digits of a decimal behind the point."""
    return int((schema.parameters or {}).get("scale", 0))


def decimal_number(value: bytes, scale: int) -> orjson.Fragment:
    """An unscaled integer's bytes as a JSON number."""
    return orjson.Fragment(str(number_of(value, scale)).encode())


class JsonSchemaPayloads(PayloadCompiler):
    """Makes and keeps the functions for one set of options."""

    def __init__(self, config: JsonSchemaConfig) -> None:
        given = {
            "decimal.format": config.decimal_format,
            "replace.null.with.default": not config.ignore_default_for_nullables,
        }
        super().__init__(JsonConfig.model_validate(given))
        self.cache_key = ("json.schema", *self.cache_key[1:])

    def _compile(self, schema: Schema) -> Payload:
        return self._union(schema) if is_union(schema) else super()._compile(schema)

    def _union(self, schema: Schema) -> Payload:
        """The function that writes the first field that has a value."""
        fields = [(one.schema, self.payload(one.schema)) for one in schema.fields]
        defaults = self.config.replace_null_with_default

        def payload(struct: Any) -> Any:
            for (of, write), value in zip(fields, struct.values, strict=True):
                if value is not None or (defaults and of.default is not None):
                    return write(value)
            return None

        return payload

    def _rendered(self, schema: Schema, name: str, scope: dict[str, Any]) -> str:
        if schema.type in FLOAT_TYPES:
            scope["number"] = number
            return f"({name} if 1e-3 <= {name} < 1e7 else number({name}))"
        if schema.name == logical.DECIMAL_NAME and self.config.decimal_format == "NUMERIC":
            scope["decimal_number"] = decimal_number
            return f"decimal_number({name}, {scale_of(schema)})"
        return super()._rendered(schema, name, scope)

    def _nested(self, schema: Schema) -> Payload:
        if schema.keys is None or schema.items is None or (schema.keys.type == "string" and not schema.keys.optional):
            return super()._nested(schema)
        key, item = self._item(schema.keys), self._item(schema.items)
        return lambda values: [{"key": key(one), "value": item(of)} for one, of in values.items()]

    def _default(self, schema: Schema) -> Any:
        return self.payload(schema.replace(default=None))(schema.default)
