"""Documents in MongoDB's Extended JSON as typed values: what `ExtractNewDocumentState` puts in an envelope's place.

Types follow Debezium's transform: identifiers, decimals and code are strings, dates and timestamps are Connect's
Timestamp, documents are structs named after their path. Where Debezium fails there is a result too: code with a scope
is a struct of both, MinKey and MaxKey are strings, numbers of different types in an array become the wider type, nulls
and empty arrays go with any type.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

from cdckit import (
    OPTIONAL_BOOLEAN,
    OPTIONAL_BYTES,
    OPTIONAL_INT32,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    Field,
    Schema,
    Struct,
    TransformError,
    array_schema,
    logical,
    struct_schema,
)
from cdckit.connector.avro_names import NameAdjustment, field_names

ArrayEncoding = Literal["array", "document"]

OPTIONAL_FLOAT64 = Schema("float64", optional=True)
TIMESTAMP = logical.CONNECT_TIMESTAMP.replace(optional=True)
REGEX = struct_schema(
    "io.debezium.mongodb.regex", {"regex": OPTIONAL_STRING, "options": OPTIONAL_STRING}, optional=True
)

NULL = OPTIONAL_STRING.replace()
"""The schema of a null, which is of no type: among other values it gives way to theirs."""

_INT32 = range(-(2**31), 2**31)
_KEPT = 8192


class Typed(NamedTuple):
    """A value with its schema."""

    schema: Schema
    value: Any


class DocumentReader:
    """Reads texts of Extended JSON.

    Args:
        arrays: whether an array is an array of one type, or a struct with a field `_0`, `_1` … for each element.
        names: what replaces characters that Avro does not allow in fields' names; an empty array, whose type nobody
            knows, is then null, and left out of other arrays.
    """

    _names_empty: ClassVar[bool] = False
    _optional_code: ClassVar[bool] = True

    def __init__(self, arrays: ArrayEncoding = "array", names: NameAdjustment = "none") -> None:
        self._arrays = arrays
        self._adjust = None if names == "none" else lru_cache(_KEPT)(field_names(names))
        self._schemas: dict[Any, Schema] = {}

    def members(self, document: dict[str, Any], name: str | None) -> dict[str, Typed]:
        """A document's fields.

        Args:
            document: as `json.loads` gives it.
            name: what the schemas of the structs in it begin with; without one it is `null`, as Debezium has it.

        Raises:
            TransformError: an array holds values of different types.
        """
        path = "null" if name is None else name
        if self._adjust is None:
            return {field: self.value(value, f"{path}.{field}") for field, value in document.items()}
        adjusted = [(self._adjust(field), value) for field, value in document.items()]
        return {field: self.value(value, f"{path}.{field}") for field, value in adjusted}

    def value(self, value: Any, name: str | None) -> Typed:
        """Any value.

        Args:
            value: as `json.loads` gives it.
            name: the path that leads to it, with the schema's name in front.

        Raises:
            TransformError: an array holds values of different types.
        """
        kind = type(value)
        if kind is dict:
            return self._document(value, name)
        if kind is list:
            return self._array(value, name)
        if kind is int:
            return Typed(OPTIONAL_INT32 if value in _INT32 else OPTIONAL_INT64, value)
        return Typed(_SCALARS[kind], value)

    def struct(self, members: dict[str, Typed], name: str | None, *, optional: bool = True) -> Struct:
        """A struct of fields; equal ones share their schema."""
        key = (name, optional, *((field, id(typed.schema)) for field, typed in members.items()))
        schema = self._schemas.get(key)
        if schema is None:
            schemas = {field: typed.schema for field, typed in members.items()}
            schema = self._kept(key, struct_schema(name, schemas, optional=optional))
        return Struct(schema, tuple(typed.value for typed in members.values()))

    def _kept(self, key: Any, schema: Schema) -> Schema:
        # a schema that is forgotten takes those along that are known by its identity
        if len(self._schemas) >= _KEPT:
            self._schemas.clear()
        self._schemas[key] = schema
        return schema

    def _document(self, document: dict[str, Any], name: str | None) -> Typed:
        special = next(iter(document), "")
        if special.startswith("$") and special in SPECIAL:
            return SPECIAL[special](document)
        if special == "$code":
            return self._code(document, name)
        made = self.struct(self.members(document, name), name if document or self._names_empty else None)
        return Typed(made.schema, made)

    def _code(self, document: dict[str, Any], name: str | None) -> Typed:
        if "$scope" not in document:
            return Typed(OPTIONAL_STRING, document["$code"])
        scope = self.value(document["$scope"], f"{name}.scope")
        members = {"code": Typed(OPTIONAL_STRING, document["$code"]), "scope": scope}
        made = self.struct(members, name, optional=self._optional_code)
        return Typed(made.schema, made)

    def _array(self, items: list[Any], name: str | None) -> Typed:
        is_null = not items and self._adjust is not None
        if self._arrays == "document":
            made = self.struct(self.members({f"_{at}": item for at, item in enumerate(items)}, name), name)
            return Typed(made.schema, None if is_null else made)
        if self._adjust is not None:
            items = [item for item in items if item != []]
        typed = [self._element(item, name) for item in items]
        schema = self._common([one.schema for one in typed], name)
        return Typed(self._array_of(schema), None if is_null else [_as(schema, one.value) for one in typed])

    def _element(self, item: Any, name: str | None) -> Typed:
        """An element of an array; documents of an array in an array have no name."""
        return self._array(item, None) if type(item) is list else self.value(item, name)

    def _array_of(self, items: Schema) -> Schema:
        array = self._schemas.get(("array", id(items)))
        return array or self._kept(("array", id(items)), array_schema(items, optional=True))

    def _common(self, schemas: Sequence[Schema], name: str | None) -> Schema:
        """The schema of all elements of an array."""
        distinct = list({id(schema): schema for schema in schemas if schema is not NULL}.values())
        if not distinct:
            return NULL
        if len(distinct) == 1:
            return distinct[0]
        types = {schema.type for schema in distinct}
        if types == {"struct"} and REGEX not in distinct:
            return self._merged(distinct, name)
        if types == {"array"}:
            return self._array_of(self._common([schema.items for schema in distinct if schema.items], name))
        if types <= {"int32", "int64", "float64"} and all(schema.name is None for schema in distinct):
            return OPTIONAL_FLOAT64 if "float64" in types else OPTIONAL_INT64
        raise TransformError(
            f"the array {name or 'in an array'} holds values of different types ({', '.join(sorted(types))}); "
            "set array.encoding=document for it"
        )

    def _merged(self, schemas: Sequence[Schema], name: str | None) -> Schema:
        """A struct with the fields of all."""
        fields: dict[str, Schema] = {}
        for schema in schemas:
            for field in schema.fields:
                known = fields.get(field.name, field.schema)
                fields[field.name] = self._common([known, field.schema], f"{name}.{field.name}")
        key = (name, True, *((field, id(schema)) for field, schema in fields.items()))
        return self._schemas.get(key) or self._kept(key, struct_schema(name, fields, optional=True))


def _as(schema: Schema, value: Any) -> Any:
    """A value in the schema that all elements of its array share."""
    if value is None or (isinstance(value, Struct) and value.schema is schema):
        return value
    if isinstance(value, Struct):
        return Struct(schema, tuple(_as(field.schema, value.get(field.name)) for field in schema.fields))
    if isinstance(value, list) and schema.items is not None:
        return [_as(schema.items, item) for item in value]
    return float(value) if schema.type == "float64" else value


def parse(text: str) -> Any:
    """What a text of Extended JSON says, its types still as it writes them."""
    return json.loads(text)


def flattened(struct: Struct, delimiter: str) -> Struct:
    """A struct whose nested structs' fields stand in itself, named by their path; arrays stay."""
    found: list[tuple[str, Schema, Any]] = []
    _flatten(struct.schema, struct.values, "", delimiter, found)
    fields = tuple(Field(name, at, schema) for at, (name, schema, _) in enumerate(found))
    return Struct(struct.schema.replace(fields=fields), tuple(value for _, _, value in found))


def _flatten(
    schema: Schema, values: tuple[Any, ...], prefix: str, delimiter: str, found: list[tuple[str, Schema, Any]]
) -> None:
    for field, value in zip(schema.fields, values, strict=True):
        name = f"{prefix}{field.name}"
        if field.schema.type == "struct":
            inner = value.values if value is not None else (None,) * len(field.schema.fields)
            _flatten(field.schema, inner, f"{name}{delimiter}", delimiter, found)
        else:
            found.append((name, field.schema.as_optional(), value))


def milliseconds(date: Any) -> int:
    """What `$date` holds, in whichever mode, as milliseconds since 1970."""
    if isinstance(date, dict):
        return int(date["$numberLong"])
    return round(datetime.fromisoformat(date).timestamp() * 1000) if isinstance(date, str) else int(date)


def _binary(document: dict[str, Any]) -> Typed:
    binary = document["$binary"]
    return Typed(OPTIONAL_BYTES, b64decode(binary["base64"] if isinstance(binary, dict) else binary))


def _regex(document: dict[str, Any]) -> Typed:
    inner = document.get("$regularExpression")
    pattern, options = (document["$regex"], document["$options"]) if inner is None else inner.values()
    return Typed(REGEX, Struct(REGEX, (pattern, options)))


_SCALARS: dict[type, Schema] = {
    str: OPTIONAL_STRING,
    float: OPTIONAL_FLOAT64,
    bool: OPTIONAL_BOOLEAN,
    type(None): NULL,
}
SPECIAL: dict[str, Callable[[dict[str, Any]], Typed]] = {
    "$oid": lambda document: Typed(OPTIONAL_STRING, document["$oid"]),
    "$numberLong": lambda document: Typed(OPTIONAL_INT64, int(document["$numberLong"])),
    "$numberDouble": lambda document: Typed(OPTIONAL_FLOAT64, float(document["$numberDouble"])),
    "$numberDecimal": lambda document: Typed(OPTIONAL_STRING, document["$numberDecimal"]),
    "$date": lambda document: Typed(TIMESTAMP, milliseconds(document["$date"])),
    "$timestamp": lambda document: Typed(TIMESTAMP, document["$timestamp"]["t"] * 1000),
    "$binary": _binary,
    "$regex": _regex,
    "$regularExpression": _regex,
    "$minKey": lambda _: Typed(OPTIONAL_STRING, "MinKey"),
    "$maxKey": lambda _: Typed(OPTIONAL_STRING, "MaxKey"),
    "$undefined": lambda _: Typed(NULL, None),
    "$symbol": lambda document: Typed(OPTIONAL_STRING, document["$symbol"]),
}
