"""HeaderToValue: copies or moves headers into fields of the value (Debezium's transform of that name)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

from pydantic import model_validator

from cdckit import Header, PluginConfig, Record, Schema, Struct, Transform, TransformError, split_names
from cdckit_transforms.extended_schema import struct_like
from cdckit_transforms.name_lists import SomeNames
from cdckit_transforms.record_part import Values, filling

Path = tuple[str, ...]
Added = tuple[tuple[Path, Schema], ...]
"""The fields that are added, by their paths."""


class HeaderToValueConfig(PluginConfig):
    """Which headers become which fields."""

    headers: SomeNames
    """The headers' names, with commas between."""
    fields: SomeNames
    """The fields' names, as many as there are headers, in the same order; `source.trace` is a field of `source`, which
    is made where it is not there."""
    operation: Literal["move", "copy"]
    """Whether the headers go (`move`) or stay (`copy`)."""

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        if len(split_names(self.fields)) != len(split_names(self.headers)):
            raise ValueError("fields and headers should be equally many")
        return self


class HeaderToValue(Transform):
    """Values with more fields; what has none of the headers, or no value, passes."""

    def __init__(self, config: HeaderToValueConfig) -> None:
        pairs = zip(split_names(config.headers), split_names(config.fields), strict=True)
        self._paths = {header: tuple(field.split(".")) for header, field in pairs}
        self._moves = config.operation == "move"

    def apply(self, record: Record) -> Record:
        """The record with the fields."""
        value = record.value
        if value is None or (not isinstance(value, Struct) and value.value is None):
            return record
        if not isinstance(value, Struct):
            raise TransformError("headers become fields of a struct, but the value is none")
        taken = {header.key: header for header in record.headers if header.key in self._paths}
        if not taken:
            return record
        left = record.headers
        if self._moves:
            left = tuple(header for header in left if header.key not in taken)
        return record.replace(value=self._extended(value, list(taken.values())), headers=left)

    def _extended(self, value: Struct, headers: Sequence[Header]) -> Struct:
        added = tuple((self._paths[header.key], _schema_of(header)) for header in headers)
        key = (self, added)
        extend = value.schema.derived.get(key)
        if extend is None:
            extend = value.schema.derived[key] = _extending(value.schema, added)
        made: Struct = extend(value.values, [header.value for header in headers])
        return made


def _schema_of(header: Header) -> Schema:
    if header.schema is None:
        raise TransformError(f"header '{header.key}' has no schema, which a field needs")
    return header.schema


Extend = Callable[[Values, Sequence[Any]], Struct]
"""Makes the larger struct of a struct's values and all headers' values."""


def _extending(schema: Schema, added: Added, places: Sequence[int] | None = None) -> Extend:
    """What adds fields to structs of a schema.

    Args:
        schema: theirs.
        added: the fields, by their paths from these structs on.
        places: where their values stand among the headers'; by default one after the other.
    """
    places = range(len(added)) if places is None else places
    own = {path[0]: (member, at) for (path, member), at in zip(added, places, strict=True) if len(path) == 1}
    below = dict.fromkeys(path[0] for path, _ in added if len(path) > 1)
    nested = {name: _nested(schema, name, added, places) for name in below}
    members = {field.name: field.schema for field in schema.fields}
    members |= {name: member for name, (member, _) in own.items() if name not in members}
    members |= {name: made for name, (made, _) in nested.items()}
    larger = struct_like(schema, members.items()).replace(optional=schema.optional)
    fill, width = filling(schema, replaces_null=True), len(schema.fields)

    def extend(values: Values, found: Sequence[Any]) -> Struct:
        made = [*(values if fill is None else fill(values)), *(None,) * (len(larger.fields) - width)]
        for name, (_, at) in own.items():
            made[larger.index[name]] = found[at]
        for name, (_, inner) in nested.items():
            made[larger.index[name]] = inner(made[larger.index[name]], found)
        return Struct(larger, tuple(made))

    return extend


def _nested(
    schema: Schema, name: str, added: Added, places: Sequence[int]
) -> tuple[Schema, Callable[[Struct | None, Sequence[Any]], Struct | None]]:
    """The schema of a nested struct with more fields, and what adds them; one that is not there yet is made."""
    rest = [(path[1:], member, at) for (path, member), at in zip(added, places, strict=True) if path[0] == name]
    deeper = [(path, member, at) for path, member, at in rest if path]
    is_new = name not in schema.index
    inner = Schema("struct", optional=True) if is_new else schema.field(name).schema
    if inner.type != "struct":
        raise TransformError(
            f"field '{name}' is {inner.type}, and no struct that '{'.'.join(deeper[0][0])}' could be in"
        )
    extend = _extending(inner, tuple((path, member) for path, member, _ in deeper), [at for *_, at in deeper])
    made = extend((None,) * len(inner.fields), [None] * (max(places) + 1)).schema

    def nested(struct: Struct | None, found: Sequence[Any]) -> Struct | None:
        if struct is None:
            return extend((), found) if is_new else None
        return extend(struct.values, found)

    return made, nested
