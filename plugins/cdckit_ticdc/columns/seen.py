"""Schemas of values that come without any: what a JSON document looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdckit import (
    FLOAT64,
    INT32,
    INT64,
    OPTIONAL_BOOLEAN,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    Schema,
    Struct,
    array_schema,
    struct_schema,
)
from cdckit.connector.envelope import TRANSACTION_BLOCK

_SOURCE_MEMBERS: dict[str, Schema] = {
    "version": STRING,
    "connector": STRING,
    "name": STRING,
    "ts_ms": INT64,
    "ts_us": OPTIONAL_INT64,
    "ts_ns": OPTIONAL_INT64,
    "snapshot": OPTIONAL_STRING,
    "db": STRING,
    "server_id": INT64,
    "pos": INT64,
    "row": INT32,
    "ord": INT32,
    "thread": OPTIONAL_INT64,
    "txnNumber": OPTIONAL_INT64,
    "wallTime": OPTIONAL_INT64,
    "txId": OPTIONAL_INT64,
    "lsn": OPTIONAL_INT64,
    "xmin": OPTIONAL_INT64,
    "commit_ts": OPTIONAL_INT64,
    "start_ts": OPTIONAL_INT64,
}
"""Members of source blocks that are no optional texts."""


def source_schema(source: Mapping[str, Any]) -> Schema:
    """The schema of a connector's source block: known members by what Debezium has them, others as they look."""
    connector = source.get("connector", "unknown")
    members = {name: _member(name, value) for name, value in source.items()}
    return struct_schema(f"io.debezium.connector.{connector}.Source", members)


def _member(name: str, value: Any) -> Schema:
    known = _SOURCE_MEMBERS.get(name)
    if known is None or (value is not None and value.__class__ is not _CLASSES[known.type]):
        return OPTIONAL_STRING if value is None else seen_schema(value)
    return known


_CLASSES: dict[str, type] = {
    "string": str,
    "int64": int,
    "int32": int,
    "float64": float,
    "boolean": bool,
    "struct": dict,
    "array": list,
}
_NULL = OPTIONAL_STRING.replace()
"""What null looks like: a text, until something else is seen in its place."""
_NUMBERS = frozenset({"int64", "float64"})
_SAMPLES = 100
"""How many items of lists are looked at."""


def seen_schema(value: Any, name: str | None = None) -> Schema:
    """The optional schema of a JSON value; null and the empty list are of texts."""
    if isinstance(value, Mapping):
        return struct_schema(name, {member: seen_schema(one) for member, one in value.items()}, optional=True)
    if isinstance(value, list):
        items = [seen_schema(one) for one in value if one is not None]
        return array_schema(_widest(items), optional=True)
    if value is None:
        return _NULL
    if value.__class__ is bool:
        return OPTIONAL_BOOLEAN
    if value.__class__ is int:
        return OPTIONAL_INT64
    return FLOAT64.as_optional() if value.__class__ is float else OPTIONAL_STRING


def _widest(items: list[Schema]) -> Schema:
    """A schema for all items: of structs one with every member that any of them has."""
    known = [item for item in items if item is not _NULL]
    kinds = {item.type for item in known}
    if not known:
        return _NULL
    if kinds == _NUMBERS:
        return FLOAT64.as_optional()
    if len(kinds) > 1:
        return OPTIONAL_STRING
    if kinds == {"array"}:
        return array_schema(_widest([item.items for item in known if item.items is not None]), optional=True)
    if kinds != {"struct"}:
        return known[0]
    members: dict[str, list[Schema]] = {}
    for item in known:
        for field in item.fields:
            members.setdefault(field.name, []).append(field.schema)
    return struct_schema(None, {name: _widest(schemas) for name, schemas in members.items()}, optional=True)


def seen_struct(document: Mapping[str, Any], name: str) -> Struct:
    """A document as a struct of the schema that it looks like."""
    schema = seen_schema(document, name).replace(optional=False)
    made = fitted(schema, document)
    assert isinstance(made, Struct)
    return made


def fitted(schema: Schema, value: Any) -> Any:
    """A JSON value as one of a schema that was made of it, or of another like it.

    Raises:
        ValueError: it has members that the schema lacks, or is of another kind.
    """
    if value is None:
        return None
    if schema.type == "float64" and value.__class__ is int:
        return float(value)
    _check(schema, value)
    if schema.type == "struct":
        if not value.keys() <= schema.index.keys():
            raise ValueError(f"members {', '.join(value.keys() - schema.index.keys())} were not there before")
        return Struct(schema, tuple(fitted(field.schema, value.get(field.name)) for field in schema.fields))
    if schema.type == "array":
        assert schema.items is not None
        return [fitted(schema.items, one) for one in value]
    return value


def _check(schema: Schema, value: object) -> None:
    expected = _CLASSES[schema.type]
    if value.__class__ is not expected:
        raise ValueError(f"a {expected.__name__} was there before")


def merged(one: Any, other: Any) -> Any:
    """A sample that shows what two samples of a value show: the members of both, the first value that is not null."""
    if one.__class__ is not other.__class__:
        return other if one is None else one
    if isinstance(one, dict):
        return {name: merged(one.get(name), other.get(name)) for name in (*one, *(n for n in other if n not in one))}
    return [*one, *other][:_SAMPLES] if isinstance(one, list) else one


_TRANSACTION_MEMBERS: dict[str, Schema] = {
    "status": STRING,
    "id": STRING,
    "event_count": OPTIONAL_INT64,
    "data_collections": array_schema(
        struct_schema(None, {"data_collection": STRING, "event_count": INT64}), optional=True
    ),
    "ts_ms": OPTIONAL_INT64,
}


def transaction_metadata(document: Mapping[str, Any]) -> Struct:
    """Begin or end of a transaction, with the members that its version has."""
    members = {name: _TRANSACTION_MEMBERS.get(name) or seen_schema(value) for name, value in document.items()}
    made = fitted(struct_schema("io.debezium.connector.common.TransactionMetadataValue", members), document)
    assert isinstance(made, Struct)
    return made


ENVELOPE_MEMBERS: dict[str, Schema] = {
    "op": STRING,
    "ts_ms": OPTIONAL_INT64,
    "ts_us": OPTIONAL_INT64,
    "ts_ns": OPTIONAL_INT64,
    "transaction": TRANSACTION_BLOCK,
    "patch": OPTIONAL_STRING,
    "filter": OPTIONAL_STRING,
}
"""Members of envelopes beside rows and the source block."""
