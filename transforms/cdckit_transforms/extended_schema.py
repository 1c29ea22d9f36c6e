"""Row schemas with more or fewer fields; each is made once for the schema that it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cdckit import Field, Schema, Struct, TransformError

Members = tuple[tuple[str, Schema], ...]


def extended(schema: Schema, members: Members) -> Schema:
    """The schema of rows with `members` at their end; a row is always there, so None is no value.

    Raises:
        TransformError: the row has a field of the same name.
    """
    key = ("transforms.extended", members)
    made: Schema | None = schema.derived.get(key)
    if made is None:
        taken = [name for name, _ in members if name in schema.index]
        if taken:
            raise TransformError(
                f"{schema.name} has a field '{taken[0]}' already; give what is added another name or prefix"
            )
        added = (Field(name, len(schema.fields) + at, member) for at, (name, member) in enumerate(members))
        made = schema.replace(fields=(*schema.fields, *added), optional=False, default=None)
        schema.derived[key] = made
    return made


def struct_like(schema: Schema, members: Iterable[tuple[str, Schema]]) -> Schema:
    """The schema of structs with other members, called and documented as `schema` is; None is no value.

    Raises:
        TransformError: two members have the same name.
    """
    fields = tuple(Field(name, at, member) for at, (name, member) in enumerate(members))
    made = schema.replace(fields=fields, optional=False, default=None)
    if len(made.index) < len(fields):
        twice = next(field.name for field in fields if made.index[field.name] != field.index)
        raise TransformError(f"{schema.name or 'the struct'} would have two fields called '{twice}'; rename one")
    return made


def reduced(struct: Struct, names: frozenset[str]) -> Struct:
    """The row without the fields called `names`; where a value is null its field's default stands."""
    key = ("transforms.reduced", names)
    schema: Schema | None = struct.schema.derived.get(key)
    if schema is None:
        kept = [member for member in struct.schema.fields if member.name not in names]
        fields = tuple(Field(member.name, at, member.schema) for at, member in enumerate(kept))
        schema = struct.schema.derived[key] = struct.schema.replace(fields=fields, optional=False, default=None)
    values = with_defaults(struct.values, struct.schema)
    pairs = zip(struct.schema.fields, values, strict=True)
    return Struct(schema, tuple(value for member, value in pairs if member.name not in names))


def with_defaults(values: tuple[Any, ...], schema: Schema) -> tuple[Any, ...]:
    """A row's values where each null is its field's default."""
    if None not in values:
        return values
    pairs = zip(schema.fields, values, strict=True)
    return tuple(member.schema.default if value is None else value for member, value in pairs)
