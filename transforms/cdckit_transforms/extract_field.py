"""ExtractField: a field takes the place of the struct or map that it is in (Kafka Connect's transform of that name)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from pydantic import field_validator, model_validator

from cdckit import Datum, Record, Schema, SchemaAndValue, Struct, TransformError
from cdckit_transforms.field_path import Syntax, field_path
from cdckit_transforms.record_part import (
    Change,
    FieldsTransform,
    KeyTransform,
    Members,
    NullsConfig,
    Values,
)

Get = Callable[[Values], Any]


class ExtractFieldConfig(NullsConfig):
    """The field."""

    field: str
    """The field's name, or its path by `field.syntax.version`."""
    field_syntax_version: Syntax = "V1"
    """`V1`: `field` is a name. `V2`: it is a path, such as ``after.address.`zip.code` ``: names with points between,
    and backticks around a name that has points itself."""

    @field_validator("field_syntax_version", mode="before")
    @classmethod
    def _in_any_case(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _path_is_whole(self) -> Self:
        field_path(self.field, self.field_syntax_version)
        return self


class ExtractField(FieldsTransform):
    """One field of the value."""

    purpose = "field extraction"

    def __init__(self, config: ExtractFieldConfig) -> None:
        self._field = config.field
        self._path = field_path(config.field, config.field_syntax_version)
        self._replaces_null = config.replace_null_with_default

    def change_of(self, schema: Schema) -> Change:
        """Takes the field, and its schema, out of structs of a schema."""
        field, get = self._found(schema)
        if field.type == "struct":
            return lambda values, _: get(values) or SchemaAndValue(field, None)
        return lambda values, _: SchemaAndValue(field, get(values))

    def changed_map(self, members: Members, record: Record) -> Any:
        """The field; null where there is none."""
        *before, last = self._path
        for step in before:
            inner = members.get(step)
            if inner is None:
                return None
            if not isinstance(inner, dict):
                raise TransformError(f"field '{self._field}': '{step}' is no map")
            members = inner
        return members.get(last)

    def changed_null(self, part: SchemaAndValue | None) -> Datum | None:
        """Null with the field's schema."""
        if part is None or part.schema is None:
            return part
        return SchemaAndValue(self._found(part.schema)[0], None)

    def _found(self, schema: Schema) -> tuple[Schema, Get]:
        """The field's schema, and what takes it out of a struct's values."""
        *before, last = self._path
        places = []
        for step in before:
            schema, at = self._member(schema, step)
            places.append((at, schema.default))
        schema, at = self._member(schema, last)
        get = _plain(at) if not self._replaces_null or schema.default is None else _with_default(at, schema.default)
        for at, default in reversed(places):
            get = _within(at, default, get)
        return schema, get

    def _member(self, schema: Schema, name: str) -> tuple[Schema, int]:
        if schema.type != "struct":
            raise TransformError(f"field '{self._field}': {schema.type} has no field '{name}'")
        at = schema.index.get(name)
        if at is None:
            there = ", ".join(schema.index) or "none"
            raise TransformError(f"there is no field '{self._field}' in the {self.part} (there are: {there})")
        return schema.fields[at].schema, at


def _plain(at: int) -> Get:
    return lambda values: values[at]


def _with_default(at: int, default: Any) -> Get:
    return lambda values: default if values[at] is None else values[at]


def _within(at: int, default: Any, get: Get) -> Get:
    """Takes out of a nested struct; a null one has no fields."""

    def inside(values: Values) -> Any:
        inner: Struct | None = values[at]
        if inner is None:
            inner = default
        return None if inner is None else get(inner.values)

    return inside


class ExtractFieldOfKey(KeyTransform, ExtractField):
    """One field of the key."""
