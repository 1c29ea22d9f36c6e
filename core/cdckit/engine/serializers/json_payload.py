"""Generated code that turns values into what orjson writes: one function per schema.

A struct becomes a dict literal whose keys are constants, which is the fastest way that Python has.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable
from typing import Any

import orjson

from cdckit import logical
from cdckit.api.schema import Schema
from cdckit.connector.connect_json.decimals import number_of
from cdckit.connector.connect_json.schema import default_to_json
from cdckit.engine.serializers.json_config import JsonConfig

Payload = Callable[[Any], Any]

PLAIN_TYPES = ("int8", "int16", "int32", "int64", "boolean", "string")
FLOAT_TYPES = ("float32", "float64")


def base64_text(value: bytes) -> str:
    """Bytes as a JSON string."""
    return b2a_base64(value, newline=False).decode("ascii")


def not_finite(value: float) -> str:
    """A number that JSON does not have, as the text that Java has for it."""
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124 - only NaN differs


def decimal_number(value: bytes, scale: int) -> orjson.Fragment:
    """An unscaled integer's bytes as a JSON number."""
    return orjson.Fragment(format(number_of(value, scale), "f").encode())


class PayloadCompiler:
    """Makes and keeps the functions for one set of options."""

    def __init__(self, config: JsonConfig) -> None:
        self.config = config
        self.cache_key = ("json", config.decimal_format, config.replace_null_with_default)

    def payload(self, schema: Schema) -> Payload:
        """The function that makes the JSON payload of a value of `schema`; None stays None, but for structs."""
        made: Payload | None = schema.derived.get(self.cache_key)
        if made is None:
            made = schema.derived[self.cache_key] = self._compile(schema)
        return made

    def _compile(self, schema: Schema) -> Payload:
        if schema.type == "struct":
            return self._compile_struct(schema)
        scope: dict[str, Any] = {}
        body = self._expression(schema, "v", scope)
        function: Payload = eval(f"lambda v: {body}", scope)  # noqa: S307 - generated from the schema alone
        return function

    def _compile_struct(self, schema: Schema) -> Payload:
        """`def payload(s)`: the struct's dict."""
        scope: dict[str, Any] = {}
        unpack, members = self.members(schema, "s", "v", scope)
        source = f"def payload(s):\n    {unpack}\n    return {members}\n"
        exec(source, scope)  # noqa: S102 - generated from the schema alone
        function: Payload = scope["payload"]
        return function

    def members(self, schema: Schema, struct: str, values: str, scope: dict[str, Any]) -> tuple[str, str]:
        """The statement that takes a struct's values, and the expression for its dict.

        Args:
            schema: that of the struct.
            struct: its name.
            values: what the names of its values begin with; their numbers follow.
            scope: gets what the expression needs.
        """
        names = [f"{values}{f.index}" for f in schema.fields]
        members = [
            f"{f.name!r}: {self._expression(f.schema, name, scope)}"
            for f, name in zip(schema.fields, names, strict=True)
        ]
        return f"{', '.join(names)}, = {struct}.values" if names else "pass", f"{{{', '.join(members)}}}"

    def _expression(self, schema: Schema, name: str, scope: dict[str, Any]) -> str:
        """The expression that renders variable `name`."""
        rendered = self._rendered(schema, name, scope)
        if schema.default is not None and self.config.replace_null_with_default:
            default = f"default{len(scope)}"
            scope[default] = self._default(schema)
            return f"({default} if {name} is None else {rendered})"
        if rendered == name or not schema.optional:
            return rendered
        return f"(None if {name} is None else {rendered})"

    def _rendered(self, schema: Schema, name: str, scope: dict[str, Any]) -> str:
        """The expression for a value that is not None."""
        if schema.type in PLAIN_TYPES:
            return name
        if schema.type in FLOAT_TYPES:
            scope["not_finite"] = not_finite
            # Only a finite number less itself is 0. orjson writes null for the others, Java the texts of their names.
            return f"({name} if {name} - {name} == 0 else not_finite({name}))"
        if schema.type == "bytes":
            if schema.name == logical.DECIMAL_NAME and self.config.decimal_format == "NUMERIC":
                scope["decimal_number"] = decimal_number
                return f"decimal_number({name}, {int((schema.parameters or {}).get('scale', 0))})"
            scope["b64"] = b2a_base64
            return f"b64({name}, newline=False).decode('ascii')"
        nested = f"nested{len(scope)}"
        scope[nested] = self._nested(schema)
        return f"{nested}({name})"

    def _nested(self, schema: Schema) -> Payload:
        if schema.type == "struct":
            return self.payload(schema)
        if schema.items is None:
            raise ValueError(f"schema {schema.name or schema.type} does not say what it holds")
        item = self._item(schema.items)
        if schema.keys is None:
            return lambda values: [item(value) for value in values]
        if schema.keys.type == "string":
            return lambda values: {key: item(value) for key, value in values.items()}
        key_of = self.payload(schema.keys)
        return lambda values: [[key_of(key), item(value)] for key, value in values.items()]

    def _item(self, schema: Schema) -> Payload:
        """The same as `payload` for what an array or a map holds: structs can be missing there."""
        payload = self.payload(schema)
        if schema.type != "struct" or not schema.optional:
            return payload
        return lambda value: None if value is None else payload(value)

    def _default(self, schema: Schema) -> Any:
        if (
            isinstance(schema.default, bytes)
            and schema.name == logical.DECIMAL_NAME
            and self.config.decimal_format == "NUMERIC"
        ):
            return decimal_number(schema.default, int((schema.parameters or {}).get("scale", 0)))
        return default_to_json(schema)
