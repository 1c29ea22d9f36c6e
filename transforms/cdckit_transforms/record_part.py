"""The part of a record that one of Kafka Connect's transforms changes: its value, or its key (`$Value`, `$Key`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from cdckit import Datum, PluginConfig, Record, Schema, SchemaAndValue, Struct, Transform, TransformError

Values = tuple[Any, ...]
Change = Callable[[Values, Record], Datum]
"""Makes of a struct's values, and the record that it is of, what takes the struct's place."""
Members = dict[str, Any]


class KafkaConfig(PluginConfig):
    """Options of Kafka Connect's own transforms: it takes texts without the blanks around them."""

    model_config = ConfigDict(str_strip_whitespace=True)


class NullsConfig(KafkaConfig):
    """What null means where the field has a default."""

    replace_null_with_default: bool = True
    """Whether a field that is null and has a default takes it."""


class ValueTransform(Transform):
    """A transform of the value."""

    part: ClassVar[Literal["key", "value"]] = "value"

    @abstractmethod
    def change(self, part: Datum | None, record: Record) -> Datum | None:
        """What the part of `record` becomes; the same object leaves the record as it is."""

    def apply(self, record: Record) -> Record:
        """The record with another value."""
        old = record.value
        new = self.change(old, record)
        if new is old:
            return record
        return Record(
            record.topic, record.key, new, record.headers, record.position, record.timestamp, record.partition
        )


class KeyTransform(ValueTransform):
    """The same for the key: stands before the transform's own class among a class's bases."""

    part = "key"

    def apply(self, record: Record) -> Record:
        """The record with another key."""
        old = record.key
        new = self.change(old, record)
        if new is old:
            return record
        return Record(
            record.topic, new, record.value, record.headers, record.position, record.timestamp, record.partition
        )


class FieldsTransform(ValueTransform):
    """A transform of structs, and of maps where there is no schema; what it does is worked out once for each schema.

    Attributes:
        purpose: what it does with fields, for messages.
    """

    purpose: ClassVar[str]

    @abstractmethod
    def change_of(self, schema: Schema) -> Change:
        """How structs of a schema are changed.

        Raises:
            TransformError: they cannot be.
        """

    @abstractmethod
    def changed_map(self, members: Members, record: Record) -> Any:
        """What takes the place of a map without a schema; None: nothing, as in a tombstone."""

    def apply(self, record: Record) -> Record:
        """The record with another value; structs of a schema that is known take the shortest way."""
        old = record.value
        if old.__class__ is not Struct or (change := old.schema.derived.get(self)) is None:
            return super().apply(record)
        new = change(old.values, record)
        return Record(
            record.topic, record.key, new, record.headers, record.position, record.timestamp, record.partition
        )

    def change(self, part: Datum | None, record: Record) -> Datum | None:
        """What the part becomes; null stays null."""
        if isinstance(part, Struct):
            schema = part.schema
            change: Change | None = schema.derived.get(self)
            if change is None:
                change = schema.derived[self] = self.change_of(schema)
            return change(part.values, record)
        if part is None or part.value is None:
            return self.changed_null(part)
        if part.schema is None and isinstance(part.value, dict):
            changed = self.changed_map(part.value, record)
            return None if changed is None else SchemaAndValue(None, changed)
        raise self.no_fields(part)

    def changed_null(self, part: SchemaAndValue | None) -> Datum | None:
        """What becomes of no value, or of null with a schema."""
        return part

    def no_fields(self, part: SchemaAndValue | None) -> TransformError:
        """The error of a key or value that has no fields."""
        if part is None or part.value is None:
            found = "is null"
        elif part.schema is None:
            found = f"is {type(part.value).__name__}, and has no schema"
        else:
            found = f"is {part.schema.type}"
        return TransformError(f"{self.purpose} needs a struct, or a map without a schema, but the {self.part} {found}")


def defaults_of(schema: Schema, *, replaces_null: bool) -> list[tuple[int, Any]]:
    """The places of fields where a default stands for null, with that."""
    fields = schema.fields if replaces_null else ()
    return [(field.index, field.schema.default) for field in fields if field.schema.default is not None]


def filling(schema: Schema, *, replaces_null: bool) -> Callable[[Values], Values] | None:
    """What puts the fields' defaults in the place of nulls; None where there is nothing to put."""
    defaults = defaults_of(schema, replaces_null=replaces_null)
    if not defaults:
        return None
    if len(defaults) == 1:
        return _filling_one(*defaults[0])

    def fill(values: Values) -> Values:
        for at, _ in defaults:
            if values[at] is None:
                break
        else:
            return values
        filled = list(values)
        for at, default in defaults:
            if filled[at] is None:
                filled[at] = default
        return tuple(filled)

    return fill


def _filling_one(at: int, default: Any) -> Callable[[Values], Values]:
    return lambda values: values if values[at] is not None else (*values[:at], default, *values[at + 1 :])


def converting(
    schema: Schema, other: Schema, converts: Mapping[int, Callable[[Any], Any]], *, replaces_null: bool
) -> Change:
    """What makes structs of another schema of those of one: defaults for nulls, then some values converted.

    Args:
        schema: the one.
        other: the other; it has as many fields.
        converts: what converts a field's values, by its place; null stays null.
        replaces_null: whether a field that is null and has a default takes it.
    """
    scope: dict[str, Any] = {"Struct": Struct, "other": other}
    scope |= {f"convert{at}": convert for at, convert in converts.items()}
    scope |= {f"default{at}": default for at, default in defaults_of(schema, replaces_null=replaces_null)}
    names, made = [f"v{field.index}" for field in schema.fields], []
    for at, name in enumerate(names):
        filled = f"(default{at} if {name} is None else {name})" if f"default{at}" in scope else name
        absent = "" if filled != name else f"None if {name} is None else "
        made.append(f"({absent}convert{at}({filled}))" if at in converts else filled)
    source = (
        f"def change(values, _):\n    {', '.join(names)}, = values\n    return Struct(other, ({', '.join(made)},))\n"
    )
    exec(source, scope)  # noqa: S102 - generated from the schema's size alone
    change: Change = scope["change"]
    return change
