"""Connect's schemas as JSON Schema, as Confluent's JsonSchemaData makes them, letter for letter.

What JSON Schema has no word for stands beside: the type, version and parameters in properties that begin with
`connect.`, and `connect.index`, the place of a field, since members have no order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

from cdckit import logical
from cdckit.api.schema import Schema
from cdckit.connector.connect_json.decimals import number_of
from cdckit.engine.serializers.json_schema.payloads import JsonSchemaPayloads, is_union, scale_of
from cdckit.engine.serializers.json_schema.text import dumps
from cdckit.java.hash_order import hash_order
from cdckit.java.text import java_double

_NULL = {"type": "null"}
_TYPES = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), "integer"),
    **dict.fromkeys(("float32", "float64"), "number"),
    "boolean": "boolean",
    "string": "string",
    "bytes": "string",
}
_UNTOLD = frozenset({"boolean", "string", "array", "struct"})
"""Connect's types that JSON Schema's own name tells."""
_OWN = "io.confluent.connect.json"
_ENUM = f"{_OWN}.Enum"
_NO_SYMBOL = "<NULL>"

Members = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JsonSchemas:
    """Makes JSON Schemas.

    Attributes:
        payloads: makes the values of defaults.
        additional: whether objects may have members that are not named.
        general: whether the symbols of an enumeration are Connect's own parameters, and not Confluent's.
    """

    payloads: JsonSchemaPayloads
    additional: bool = True
    general: bool = False

    def schema(self, schema: Schema) -> str:
        """The text of the JSON Schema of a Connect schema.

        Raises:
            ValueError: a default cannot be written in JSON.
        """
        return dumps(self._schema(schema, None)).decode()

    def _schema(self, schema: Schema, index: int | None) -> Members:
        if is_union(schema):
            branches = [self._required(one.schema, one.index) for one in schema.fields]
            return _one_of(index, [*([_NULL] if schema.optional else []), *branches])
        if schema.optional:
            return _one_of(index, [_NULL, self._required(schema, None)])
        return self._required(schema, index)

    def _required(self, schema: Schema, index: int | None) -> Members:
        """The schema of a value that is no null."""
        if is_union(schema):
            return _one_of(index, [self._required(one.schema, one.index) for one in schema.fields])
        told = self._told(schema, index)
        if schema.type == "boolean":
            return {**told, "type": "boolean"}
        before, behind = self._typed(schema)
        return {**before, **told, **behind}

    def _typed(self, schema: Schema) -> tuple[Members, Members]:
        """What stands before that which all types share, and what behind it."""
        if schema.type == "struct":
            closed = {} if self.additional else {"additionalProperties": False}
            members = _by_name((one.name, self._schema(one.schema, one.index)) for one in schema.fields)
            return {"type": "object", **closed}, {"properties": members} if members else {}
        if schema.items is not None:
            return self._collection(schema, schema.items)
        symbols = self._symbols(schema)
        if symbols is not None:
            return {"enum": symbols}, {}
        numeric = schema.name == logical.DECIMAL_NAME and self.payloads.config.decimal_format == "NUMERIC"
        return {"type": "number" if numeric else _TYPES[schema.type]}, {}

    def _collection(self, schema: Schema, items: Schema) -> tuple[Members, Members]:
        if schema.keys is None:
            return {"type": "array"}, {"items": self._schema(items, None)}
        if schema.keys.type == "string" and not schema.keys.optional:
            return {"type": "object"}, {"additionalProperties": self._schema(items, None)}
        members = (("key", self._schema(schema.keys, 0)), ("value", self._schema(items, 1)))
        return {"type": "array"}, {"items": {"type": "object", "properties": _by_name(members)}}

    def _symbols(self, schema: Schema) -> list[str | None] | None:
        parameters = schema.parameters or {}
        if schema.type != "string" or not (_ENUM in parameters or logical.GENERAL_ENUM_NAME in parameters):
            return None
        before = f"{logical.GENERAL_ENUM_NAME if self.general else _ENUM}."
        symbols = hash_order(name.removeprefix(before) for name in parameters if name.startswith(before))
        return [None if symbol == _NO_SYMBOL else symbol for symbol in symbols]

    def _told(self, schema: Schema, index: int | None) -> Members:
        """What all types share."""
        kind = "map" if schema.keys is not None else None if schema.type in _UNTOLD else schema.type
        told = {
            "title": schema.name,
            "description": schema.doc,
            "default": None if schema.default is None else self._default(schema),
            "connect.index": index,
            "connect.version": schema.version,
            "connect.type": kind,
            "connect.parameters": _parameters(schema),
        }
        return {name: value for name, value in told.items() if value is not None}

    def _default(self, schema: Schema) -> Any:
        if schema.name == logical.DECIMAL_NAME and self.payloads.config.decimal_format == "NUMERIC":
            return _number(str(number_of(schema.default, scale_of(schema))))
        if isinstance(schema.default, float):
            return _number(java_double(schema.default, "E"))
        made = self.payloads.payload(schema)(schema.default)
        return _hashed(orjson.loads(dumps(made))) if isinstance(made, list | dict) else made


def _one_of(index: int | None, branches: list[Members]) -> Members:
    """A choice; choices within it come first."""
    place = {} if index is None else {"connect.index": index}
    return {**place, "oneOf": sorted(branches, key=lambda branch: "oneOf" not in branch)}


def _by_name(members: Iterable[tuple[str, Members]]) -> Members:
    given = dict(members)
    return {name: given[name] for name in hash_order(given)}


def _parameters(schema: Schema) -> dict[str, str] | None:
    given = {name: value for name, value in (schema.parameters or {}).items() if not name.startswith(_OWN)}
    room = 1 << max(len(given) - 1, 0).bit_length()
    return {name: given[name] for name in hash_order(hash_order(given), room)} or None


def _hashed(value: Any) -> Any:
    """What a default holds: objects in the order of Java's hash tables."""
    if isinstance(value, dict):
        return {name: _hashed(value[name]) for name in hash_order(value)}
    if isinstance(value, list):
        return [_hashed(item) for item in value]
    return _number(java_double(value, "E")) if isinstance(value, float) else value


def _number(text: str) -> orjson.Fragment:
    """A number without the zeros at its end."""
    if "N" in text or "n" in text:
        raise ValueError(f"a default {text} cannot be written in JSON")
    if "." in text and "E" not in text:
        text = text.rstrip("0").rstrip(".")
    return orjson.Fragment((str(Decimal(text)) if "." in text or "E" in text else str(int(text))).encode())
