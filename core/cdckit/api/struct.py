"""A struct: one value of a struct schema, held as a tuple."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdckit.api.schema import Schema


class Struct:
    """A schema and the tuple of its fields' values, in the schema's order.

    A struct is never changed in place; `replace` makes another one.
    """

    __slots__ = ("schema", "values")

    schema: Schema
    values: tuple[Any, ...]

    def __init__(self, schema: Schema, values: tuple[Any, ...]) -> None:
        self.schema = schema
        self.values = values

    @classmethod
    def of(cls, schema: Schema, members: Mapping[str, Any]) -> Struct:
        """A struct from a mapping; a field that it lacks takes the schema's default, or None.

        Raises:
            KeyError: `members` has a name that the schema does not know.
        """
        unknown = members.keys() - schema.index.keys()
        if unknown:
            raise KeyError(f"{schema.name}: no field {', '.join(sorted(unknown))}")
        return Struct(schema, tuple(members.get(f.name, f.schema.default) for f in schema.fields))

    def __getitem__(self, name: str) -> Any:
        return self.values[self.schema.index[name]]

    def __contains__(self, name: str) -> bool:
        return name in self.schema.index

    def get(self, name: str, default: Any = None) -> Any:
        """The value of field `name`, or `default` where the schema has no such field."""
        at = self.schema.index.get(name)
        return default if at is None else self.values[at]

    def replace(self, **members: Any) -> Struct:
        """A struct of the same schema with some fields' values changed."""
        values = list(self.values)
        for name, value in members.items():
            values[self.schema.index[name]] = value
        return Struct(self.schema, tuple(values))

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, nested structs included."""
        return {f.name: plain(v) for f, v in zip(self.schema.fields, self.values, strict=True)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct):
            return NotImplemented
        return self.values == other.values and self.schema.same_as(other.schema)

    def __hash__(self) -> int:
        return hash(self.values)

    def __repr__(self) -> str:
        return f"Struct({self.schema.name}, {self.to_dict()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Struct, (self.schema, self.values)


def plain(value: Any) -> Any:
    """A value with dicts in the place of structs, at any depth."""
    if isinstance(value, Struct):
        return value.to_dict()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


Path = tuple[int, ...]
"""Where a value stands in nested structs: the field's index at each level."""


class Template:
    """A struct with holes: what the structs of one group share.

    The envelopes of one rows event are a template: source block, operation and times are the same, only `before`,
    `after` and `source.row` differ. A serializer encodes a template once for the group.

    Args:
        schema: the schema of the whole.
        values: its values; what stands in a hole does not matter.
        holes: where the integers and structs that differ go, in the order in which they are written.
    """

    __slots__ = ("derived", "holes", "schema", "values")

    def __init__(self, schema: Schema, values: tuple[Any, ...], holes: tuple[Path, ...]) -> None:
        self.schema = schema
        self.values = values
        self.holes = holes
        self.derived: Any = None
        """The serializer's own: what it has encoded once for the whole group."""


class TemplateStruct(Struct):
    """A struct made of a template and what fills its holes; its tuple is built when asked for."""

    __slots__ = ("fills", "template")

    def __init__(self, template: Template, fills: tuple[Any, ...]) -> None:
        self.template = template
        self.fills = fills

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        """The template's schema."""
        return self.template.schema

    @property
    def values(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The template's values with the holes filled."""
        values = self.template.values
        for hole, fill in zip(self.template.holes, self.fills, strict=True):
            values = filled(values, hole, fill)
        return values


def filled(values: tuple[Any, ...], hole: Path, fill: Any) -> tuple[Any, ...]:
    """`values` with `fill` at `hole`, nested structs made anew on the way."""
    at = hole[0]
    if len(hole) > 1:
        nested: Struct = values[at]
        fill = Struct(nested.schema, filled(nested.values, hole[1:], fill))
    return (*values[:at], fill, *values[at + 1 :])
