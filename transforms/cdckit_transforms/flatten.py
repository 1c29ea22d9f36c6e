"""Flatten: the fields of nested structs become the outer one's (Kafka Connect's transform of that name)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from cdckit import Datum, Record, Schema, Struct, TransformError
from cdckit_transforms.extended_schema import struct_like
from cdckit_transforms.record_part import Change, FieldsTransform, KafkaConfig, KeyTransform, Members, Values, filling
from cdckit_transforms.unavailable_fields import told_as


class FlattenConfig(KafkaConfig):
    """What stands between the names."""

    delimiter: str = "."
    """What stands between the names of a struct and of its field."""


class Flatten(FieldsTransform):
    """The value without nested structs, or maps where there is no schema; arrays stay."""

    purpose = "flattening"

    def __init__(self, config: FlattenConfig) -> None:
        self._delimiter = config.delimiter

    def apply(self, record: Record) -> Record:
        """The record without nested structs; a header that names one of these names its fields."""
        changed = super().apply(record)
        return told_as(changed, lambda name: self._names_of(record.value, name))

    def _names_of(self, value: Datum | None, name: str) -> list[str]:
        if not isinstance(value, Struct) or name not in value.schema.index:
            return [name]
        inner = value.schema.field(name).schema
        return [name] if inner.type != "struct" else [flat for flat, _ in self._members(inner, name, True, None)]

    def change_of(self, schema: Schema) -> Change:
        """Flattens structs of a schema."""
        flat = struct_like(schema, self._members(schema, "", schema.optional, schema.default))
        flatten = _flattening(schema)
        return lambda values, _: Struct(flat, flatten(values))

    def changed_map(self, members: Members, record: Record) -> Members:
        """The map without nested maps."""
        return dict(self._pairs(members, ""))

    def _pairs(self, members: Members, before: str) -> Iterator[tuple[str, Any]]:
        for name, value in members.items():
            if isinstance(value, dict):
                yield from self._pairs(value, self._name(before, name))
            else:
                yield self._name(before, name), value

    def _name(self, before: str, name: str) -> str:
        return f"{before}{self._delimiter}{name}" if before else name

    def _members(
        self, schema: Schema, before: str, optional: bool, default: Struct | None
    ) -> Iterator[tuple[str, Schema]]:
        """The names and schemas of a struct's members: what may be missing with the struct is optional."""
        for field in schema.fields:
            name = self._name(before, field.name)
            inner, value = field.schema, field.schema.default
            if value is None and default is not None:
                value = _value_of(default, field.index)
            may_be_null = optional or inner.optional
            if inner.type == "struct":
                yield from self._members(inner, name, may_be_null, value)
            elif inner.type == "map":
                raise TransformError(f"field '{name}' is a map, which a flat struct cannot hold; leave it out before")
            elif inner.optional is may_be_null and inner.default is value:
                yield name, inner
            else:
                yield name, inner.replace(optional=may_be_null, default=value)


def _value_of(struct: Struct, at: int) -> Any:
    value = struct.values[at]
    return struct.schema.fields[at].schema.default if value is None else value


def _flattening(schema: Schema) -> Callable[[Values], Values]:
    """What makes the flat values of a struct's."""
    fill = filling(schema, replaces_null=True)
    pieces = list(_pieces(schema))
    if not any(field.schema.type == "struct" for field in schema.fields):
        return _same if fill is None else fill

    def flatten(values: Values) -> Values:
        if fill is not None:
            values = fill(values)
        flat: list[Any] = []
        for piece in pieces:
            flat += piece(values)
        return tuple(flat)

    return flatten


def _same(values: Values) -> Values:
    return values


def _pieces(schema: Schema) -> Iterator[Callable[[Values], Values]]:
    """What takes, one after the other, the runs of plain fields and the nested structs of a struct."""
    start = 0
    for field in schema.fields:
        if field.schema.type == "struct":
            yield itemgetter(slice(start, field.index))
            yield _nested(field.schema, field.index)
            start = field.index + 1
    yield itemgetter(slice(start, len(schema.fields)))


def _nested(schema: Schema, at: int) -> Callable[[Values], Values]:
    """Takes the fields of a nested struct; all are null where it is."""
    flatten, nulls = _flattening(schema), (None,) * _width(schema)

    def nested(values: Values) -> Values:
        inner: Struct | None = values[at]
        return nulls if inner is None else flatten(inner.values)

    return nested


def _width(schema: Schema) -> int:
    return sum(_width(field.schema) if field.schema.type == "struct" else 1 for field in schema.fields)


class FlattenKey(KeyTransform, Flatten):
    """The key without nested structs."""
