"""Cast: fields, or the whole key or value, as another primitive type (Kafka Connect's transform of that name)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, cast, get_args

from pydantic import AfterValidator

from cdckit import Datum, NameList, Record, Schema, SchemaAndValue, Struct, TransformError, split_names
from cdckit_transforms.casting import Cast as CastValue, Target, casting, same
from cdckit_transforms.extended_schema import struct_like
from cdckit_transforms.record_part import (
    Change,
    FieldsTransform,
    KeyTransform,
    Members,
    NullsConfig,
    converting,
)

_WHOLE = ""
"""Stands for the whole key or value in a specification."""
_OF_PYTHON: dict[type, Schema] = {
    bool: Schema("boolean"),
    int: Schema("int64"),
    float: Schema("float64"),
    str: Schema("string"),
}


def _specification(text: str) -> dict[str, Target]:
    """The types, by field.

    Raises:
        ValueError: an item is not `FIELD:TYPE`, or `TYPE` alone.
    """
    found: dict[str, Target] = {}
    items = split_names(text)
    for item in items:
        field, _, kind = item.rpartition(":")
        kind = kind.strip().lower()
        if kind not in get_args(Target) or ":" in field:
            raise ValueError(
                f"'{item}' should be FIELD:TYPE, or one TYPE for the whole; types are {', '.join(get_args(Target))}"
            )
        found[field.strip()] = cast(Target, kind)
    if not found or (_WHOLE in found and len(items) > 1):
        raise ValueError("should be pairs FIELD:TYPE with commas between, or one TYPE for the whole")
    return found


def _checked(text: str) -> str:
    _specification(text)
    return text


class CastConfig(NullsConfig):
    """What is cast."""

    spec: Annotated[NameList, AfterValidator(_checked)]
    """`field:type,other:type`, or one type for the whole key or value. The types are int8, int16, int32, int64,
    float32, float64, boolean and string."""


class Cast(FieldsTransform):
    """The value with fields of other types."""

    purpose = "casting fields"

    def __init__(self, config: CastConfig) -> None:
        self._types = _specification(config.spec)
        self._whole = self._types.get(_WHOLE)
        self._replaces_null = config.replace_null_with_default

    def change(self, part: Datum | None, record: Record) -> Datum | None:
        """The part, or fields of it, cast."""
        if self._whole is None:
            return super().change(part, record)
        if part is None or isinstance(part, Struct) or part.value is None:
            if isinstance(part, Struct):
                raise TransformError(
                    f"the {self.part} is a struct, which cannot be cast as a whole; name fields in spec"
                )
            return part
        if part.schema is None:
            return SchemaAndValue(None, self._cast_plain(f"the {self.part}", part.value, self._whole))
        known = part.schema.derived.get(self)
        if known is None:
            known = part.schema.derived[self] = self._of_whole(part.schema, self._whole)
        schema, convert = known
        return SchemaAndValue(schema, convert(part.value))

    def change_of(self, schema: Schema) -> Change:
        """Casts fields of structs of a schema."""
        casts = {
            field.index: self._field(field.name, field.schema, self._types[field.name])
            for field in schema.fields
            if field.name in self._types
        }
        members = [
            (field.name, casts[field.index][0] if field.index in casts else field.schema) for field in schema.fields
        ]
        other = struct_like(schema, members).replace(optional=schema.optional)
        converts = {at: convert for at, (_, convert) in casts.items() if convert is not same}
        return converting(schema, other, converts, replaces_null=self._replaces_null)

    def changed_map(self, members: Members, record: Record) -> Members:
        """The map with members cast; those that it lacks are null in it."""
        converted = {
            name: self._cast_plain(f"field '{name}'", members.get(name), kind) for name, kind in self._types.items()
        }
        return {**members, **converted}

    def _cast_plain(self, what: str, value: Any, target: Target) -> Any:
        if value is None:
            return None
        schema = _OF_PYTHON.get(type(value))
        if schema is None:
            raise TransformError(f"{what}: {type(value).__name__} cannot be cast")
        return _naming_what(what, schema, target)(value)

    def _field(self, name: str, schema: Schema, target: Target) -> tuple[Schema, CastValue]:
        """A field's new schema, and what casts its values."""
        convert = _naming_what(f"field '{name}'", schema, target)
        default = None if schema.default is None else convert(schema.default)
        return Schema(target, optional=schema.optional, default=default), convert

    def _of_whole(self, schema: Schema, target: Target) -> tuple[Schema, CastValue]:
        convert = _naming_what(f"the {self.part}", schema, target)
        default = None if schema.default is None else convert(schema.default)
        return schema.replace(type=target, default=default, stored=None), convert


def _naming_what(what: str, schema: Schema, target: Target) -> Callable[[Any], Any]:
    """What casts values of a schema, with errors that tell what is cast; texts alone may be no such value."""
    try:
        convert = casting(schema, target)
    except TransformError as error:
        fault = TransformError(f"{what}: {error}")

        def refuse(_: Any) -> Any:
            raise fault

        return refuse

    if schema.type != "string":
        return convert

    def cast(value: Any) -> Any:
        try:
            return convert(value)
        except ValueError as error:
            raise TransformError(f"{what} cannot be cast to {target}: {error}") from error

    return cast


class CastKey(KeyTransform, Cast):
    """The key with fields of other types."""
