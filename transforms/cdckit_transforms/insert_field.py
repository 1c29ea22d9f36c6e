"""InsertField: adds where a record goes, its time, or a fixed text (Kafka Connect's transform of that name)."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple, Self

from pydantic import field_validator, model_validator

from cdckit import INT32, STRING, Record, Schema, Struct, TransformError
from cdckit.logical import CONNECT_TIMESTAMP
from cdckit_transforms.extended_schema import struct_like
from cdckit_transforms.record_part import Change, FieldsTransform, KeyTransform, Members, NullsConfig, Values, filling


class InsertFieldConfig(NullsConfig):
    """What is added, and under which names."""

    topic_field: str | None = None
    """The field that takes the record's topic. `!` at the end of the name, here and below, makes the field a required
    one, `?` an optional one, which it is by default."""
    partition_field: str | None = None
    """The field that takes the record's partition; null where the sink chooses it by the key."""
    offset_field: str | None = None
    """Refused: only a consumer of a topic knows a record's offset."""
    timestamp_field: str | None = None
    """The field that takes the record's time: Kafka Connect's Timestamp, without a schema milliseconds since 1970."""
    static_field: str | None = None
    """The field that takes `static.value`."""
    static_value: str | None = None
    """The text of `static.field`."""

    @field_validator("offset_field")
    @classmethod
    def _no_offset(cls, field: str | None) -> str | None:
        if field is not None:
            raise ValueError("a record has no offset before it is in Kafka; remove it")
        return field

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not any((self.topic_field, self.partition_field, self.timestamp_field, self.static_field)):
            raise ValueError("give topic.field, partition.field, timestamp.field or static.field")
        if self.static_field and self.static_value is None:
            raise ValueError("static.field needs static.value")
        return self


class _Added(NamedTuple):
    """A field that is added.

    Attributes:
        name: its name.
        schema: its type.
        attribute: of the record, which it takes; "" for the fixed text.
    """

    name: str
    schema: Schema
    attribute: str


class InsertField(FieldsTransform):
    """The value with more fields."""

    purpose = "field insertion"

    def __init__(self, config: InsertFieldConfig) -> None:
        given = (
            (config.topic_field, STRING, "topic"),
            (config.partition_field, INT32, "partition"),
            (config.timestamp_field, CONNECT_TIMESTAMP, "timestamp"),
            (config.static_field, STRING, ""),
        )
        self._added = tuple(_added(spec, schema, attribute) for spec, schema, attribute in given if spec)
        self._replaces_null = config.replace_null_with_default
        self._values = _values_of(self._added, config.static_value)
        self._required = any(not added.schema.optional for added in self._added)

    def change_of(self, schema: Schema) -> Change:
        """Adds the fields to structs of a schema."""
        members = [(field.name, field.schema) for field in schema.fields]
        larger = struct_like(schema, [*members, *((added.name, added.schema) for added in self._added)])
        fill = filling(schema, replaces_null=self._replaces_null)
        added = self._checked_values if self._required else self._values
        if fill is None:
            return lambda values, record: Struct(larger, values + added(record))
        return lambda values, record: Struct(larger, fill(values) + added(record))

    def _checked_values(self, record: Record) -> Values:
        """The values of all added fields, the required ones of which are there."""
        values = self._values(record)
        for added, value in zip(self._added, values, strict=True):
            if value is None and not added.schema.optional:
                raise TransformError(
                    f"field '{added.name}' is required, but the record has no value for it; write '{added.name}?'"
                )
        return values

    def changed_map(self, members: Members, record: Record) -> Members:
        """The map with those of the fields that have a value."""
        found = zip(self._added, self._values(record), strict=True)
        return {**members, **{added.name: value for added, value in found if value is not None}}


def _added(spec: str, schema: Schema, attribute: str) -> _Added:
    name = spec[:-1] if spec.endswith(("!", "?")) else spec
    return _Added(name, schema if spec.endswith("!") else schema.as_optional(), attribute)


def _values_of(added: tuple[_Added, ...], static: str | None) -> Callable[[Record], Values]:
    """What takes the values of all added fields out of a record."""
    attributes = [one.attribute for one in added if one.attribute]
    fixed = (static,) * (len(added) - len(attributes))
    if not attributes:
        return lambda _: fixed
    take = attrgetter(*attributes)
    if len(attributes) == 1:
        return lambda record: (take(record), *fixed)
    if not fixed:
        return take
    return lambda record: take(record) + fixed


class InsertFieldIntoKey(KeyTransform, InsertField):
    """The key with more fields."""
