"""Kafka Connect's data model: a schema names and types the fields of a value.

A value is always held in the schema's primitive type: a `Decimal` as the big-endian two's complement bytes of its
unscaled integer, a `Date` as days, a `ZonedTimestamp` as its string. `cdckit.logical` turns them into Python's types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Type = Literal[
    "int8",
    "int16",
    "int32",
    "int64",
    "float32",
    "float64",
    "boolean",
    "string",
    "bytes",
    "array",
    "map",
    "struct",
]


@dataclass(frozen=True, slots=True)
class Field:
    """One named member of a struct schema, at its `index`."""

    name: str
    index: int
    schema: Schema


@dataclass(frozen=True, slots=True)
class Stored:
    """What a source knows of a column, or a table, besides what its events show, for sinks that keep tables.

    Attributes:
        unsigned: a number of 64 bits without sign, whatever type events show it as: as an int64 it is negative from
            2^63 on.
        default: what a row has that was inserted without a value for the column, as a value of the column's schema; the
            schema's own default may be shown in another form, as Debezium does.
        older: what rows have in the column that were there before it was added, as a value of the column's schema.
        older_unknown: whether each of those rows has a value of its own, or one that the source cannot tell.
        comment: what the source's definition says the column is for, or, with the schema of rows, the table.
        table: with the schema of rows or keys, whose they are: `database.table`.
        zero_is_epoch: whether events of the log show a moment that is none as 1970-01-01T00:00:00Z, which is none of
            the column's values.
    """

    unsigned: bool = False
    default: Any = None
    older: Any = None
    older_unknown: bool = False
    comment: str | None = None
    table: str | None = None
    zero_is_epoch: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """The type of one value. Two schemas are the same only if they are the same object.

    Attributes:
        type: Connect's primitive or compound type.
        optional: whether None is a value.
        default: the value that stands for None; None when there is none.
        name: the logical type's or the struct's full name.
        version: the logical type's version.
        doc: a comment for people.
        parameters: what the logical type needs, such as `scale`.
        fields: the members of a struct, in order.
        keys: the schema of a map's keys.
        items: the schema of an array's elements or of a map's values.
        stored: what is known of the column besides; events never show it, and schemas that differ in it alone say the
            same.
        derived: what serializers and transforms have computed from this schema, by their own key.
    """

    type: Type
    optional: bool = False
    default: Any = None
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] | None = None
    fields: tuple[Field, ...] = ()
    keys: Schema | None = None
    items: Schema | None = None
    stored: Stored | None = None
    derived: dict[Any, Any] = field(default_factory=dict, repr=False)
    index: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {member.name: member.index for member in self.fields})

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _PICKLED)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(_PICKLED, state, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "derived", {})
        self.__post_init__()

    def field(self, name: str) -> Field:
        """The member called `name`.

        Raises:
            KeyError: there is no such member.
        """
        return self.fields[self.index[name]]

    def replace(self, **changes: Any) -> Schema:
        """A new schema like this one but for `changes`."""
        return replace(self, derived={}, **changes)

    def as_optional(self) -> Schema:
        """This schema where None is allowed."""
        return self if self.optional else self.replace(optional=True)

    def same_as(self, other: Schema | None) -> bool:
        """Whether `other` says the same, member by member."""
        return self is other or (other is not None and _content(self) == _content(other))


_PICKLED = (
    "type", "optional", "default", "name", "version", "doc", "parameters", "fields", "keys", "items",
    "stored",
)  # fmt: skip


def _content(schema: Schema | None) -> Any:
    if schema is None:
        return None
    plain = tuple(getattr(schema, name) for name in _PICKLED[:6])
    members = tuple((member.name, _content(member.schema)) for member in schema.fields)
    return (*plain, dict(schema.parameters or {}), members, _content(schema.keys), _content(schema.items))


def struct_schema(
    name: str | None, members: Mapping[str, Schema], *, optional: bool = False, version: int | None = None
) -> Schema:
    """A struct schema whose fields are `members`, in their order."""
    fields = tuple(Field(key, index, schema) for index, (key, schema) in enumerate(members.items()))
    return Schema("struct", optional=optional, name=name, version=version, fields=fields)


def array_schema(items: Schema, *, optional: bool = False, name: str | None = None) -> Schema:
    """A schema of lists of `items`."""
    return Schema("array", optional=optional, name=name, items=items)


INT8 = Schema("int8")
INT16 = Schema("int16")
INT32 = Schema("int32")
INT64 = Schema("int64")
FLOAT32 = Schema("float32")
FLOAT64 = Schema("float64")
BOOLEAN = Schema("boolean")
STRING = Schema("string")
BYTES = Schema("bytes")
OPTIONAL_INT32 = Schema("int32", optional=True)
OPTIONAL_INT64 = Schema("int64", optional=True)
OPTIONAL_STRING = Schema("string", optional=True)
OPTIONAL_BOOLEAN = Schema("boolean", optional=True)
OPTIONAL_BYTES = Schema("bytes", optional=True)
