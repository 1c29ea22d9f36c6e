"""TimestampConverter: moments as texts, numbers, dates or times of day (Kafka Connect's transform of that name)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

from pydantic import model_validator

from cdckit import INT64, STRING, Datum, Record, Schema, SchemaAndValue, Struct, TransformError
from cdckit.java.date_format import DateFormat
from cdckit.logical import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP
from cdckit_transforms.extended_schema import struct_like
from cdckit_transforms.java_numbers import narrowed
from cdckit_transforms.record_part import (
    Change,
    FieldsTransform,
    KeyTransform,
    Members,
    NullsConfig,
    converting,
    filling,
)
from cdckit_transforms.timestamp_router import DatePattern

Kind = Literal["string", "unix", "Date", "Time", "Timestamp"]
Precision = Literal["nanoseconds", "microseconds", "milliseconds", "seconds"]
Convert = Callable[[Any], Any]

_DAY = 86_400_000
_SCHEMAS: dict[Kind, Schema] = {
    "string": STRING, "unix": INT64, "Date": CONNECT_DATE, "Time": CONNECT_TIME, "Timestamp": CONNECT_TIMESTAMP,
}  # fmt: skip
_OPTIONAL = {kind: schema.as_optional() for kind, schema in _SCHEMAS.items()}
_KINDS: dict[str | None, Kind] = {_SCHEMAS[kind].name: kind for kind in ("Date", "Time", "Timestamp")}
_KINDS_OF_TYPES: dict[str, Kind] = {"string": "string", "int64": "unix"}
_TO_MILLISECONDS: dict[Precision, tuple[int, int]] = {
    "nanoseconds": (1, 1_000_000), "microseconds": (1, 1_000), "milliseconds": (1, 1), "seconds": (1_000, 1),
}  # fmt: skip
"""By what a number is multiplied, and divided, to be milliseconds."""


class TimestampConverterConfig(NullsConfig):
    """Which moment becomes what."""

    field: str = ""
    """The field with the moment; empty: the whole key or value is the moment."""
    target_type: Kind
    """What it becomes: a text by `format`, a number by `unix.precision`, or Kafka Connect's Date, Time or Timestamp."""
    format: DatePattern = ""
    """The pattern of texts (Java's SimpleDateFormat): for `target.type: string`, and for fields that are texts."""
    unix_precision: Precision = "milliseconds"
    """The unit of numbers, counted from 1970, for `target.type: unix`, and for fields that are int64. What is
    finer than a millisecond is lost."""

    @model_validator(mode="after")
    def _has_a_format(self) -> Self:
        if self.target_type == "string" and not self.format.strip():
            raise ValueError("target.type: string needs format")
        return self


class TimestampConverter(FieldsTransform):
    """The value with a moment of another type."""

    purpose = "converting timestamps"

    def __init__(self, config: TimestampConverterConfig) -> None:
        self._field = config.field
        self._target: Kind = config.target_type
        self._format = DateFormat(config.format) if config.format.strip() else None
        self._replaces_null = config.replace_null_with_default
        self._times_by = times, by = _TO_MILLISECONDS[config.unix_precision]
        self._readers: dict[Kind, Convert] = {
            "string": self._parsed,
            "unix": _scaled(times, by),
            "Date": lambda days: days * _DAY,
            "Time": _same,
            "Timestamp": _same,
        }
        writers: dict[Kind, Convert] = {
            "string": _same if self._format is None else self._format.format,
            "unix": _scaled(by, times),
            "Date": lambda milliseconds: narrowed(milliseconds // _DAY, 32),
            "Time": lambda milliseconds: milliseconds % _DAY,
            "Timestamp": _same,
        }
        self._write = writers[config.target_type]

    def change(self, part: Datum | None, record: Record) -> Datum | None:
        """The part, or the field of it, converted."""
        if self._field:
            return super().change(part, record)
        if isinstance(part, Struct):
            raise TransformError(f"the {self.part} is a struct, and no moment; name the field (field)")
        if part is None or part.schema is None:
            if part is None or part.value is None:
                return part
            return SchemaAndValue(None, self._plain(f"the {self.part}", part.value))
        known = part.schema.derived.get(self)
        if known is None:
            known = part.schema.derived[self] = self._of(part.schema), self._converting(f"the {self.part}", part.schema)
        schema, convert = known
        return SchemaAndValue(schema, None if part.value is None else convert(part.value))

    def change_of(self, schema: Schema) -> Change:
        """Converts the field of structs of a schema; those that lack it stay as they are."""
        if self._field not in schema.index:
            fill = filling(schema, replaces_null=self._replaces_null)
            return lambda values, _: Struct(schema, values if fill is None else fill(values))
        return self._changing(schema, schema.index[self._field])

    def _changing(self, schema: Schema, at: int) -> Change:
        convert = self._converting(f"field '{self._field}'", schema.fields[at].schema)
        return converting(schema, self._with_field(schema), {at: convert}, replaces_null=self._replaces_null)

    def changed_map(self, members: Members, record: Record) -> Members:
        """The map with the member converted; null where it lacks it."""
        value = members.get(self._field)
        return {**members, self._field: None if value is None else self._plain(f"field '{self._field}'", value)}

    def changed_null(self, part: SchemaAndValue | None) -> Datum | None:
        """Null with the new schema."""
        if part is None or part.schema is None:
            return part
        if part.schema.type != "struct":
            raise self.no_fields(part)
        return SchemaAndValue(self._with_field(part.schema), None)

    def _with_field(self, schema: Schema) -> Schema:
        """The schema of structs with the moment converted."""
        converted = (
            (field.name, self._of(field.schema) if field.name == self._field else field.schema)
            for field in schema.fields
        )
        return struct_like(schema, converted).replace(optional=schema.optional)

    def _of(self, schema: Schema) -> Schema:
        """A moment's new schema."""
        return (_OPTIONAL if schema.optional else _SCHEMAS)[self._target]

    def _converting(self, what: str, schema: Schema) -> Convert:
        """What converts moments of a schema."""
        kind = _KINDS.get(schema.name) or _KINDS_OF_TYPES.get(schema.type)
        if kind is None:
            raise TransformError(f"{what} is {schema.name or schema.type}, which is no timestamp for Kafka Connect")
        return self._naming_what(what, kind)

    def _plain(self, what: str, value: Any) -> Any:
        """A moment without a schema: milliseconds or the like, or a text."""
        kind = _KINDS_OF_TYPES.get({int: "int64", str: "string"}.get(type(value), ""))
        if kind is None:
            raise TransformError(f"{what} is {type(value).__name__}, and no whole number or text")
        if self._target not in ("string", "unix"):
            raise TransformError(
                f"{what} has no schema, which target.type: {self._target} needs; choose string or unix"
            )
        return self._naming_what(what, kind)(value)

    def _naming_what(self, what: str, kind: Kind) -> Convert:
        """What converts a moment of a kind, with errors that tell which; texts alone may be none."""
        read, write = self._readers[kind], self._write
        times, by = self._times_by
        if kind == "unix" and self._target == "string" and times == 1 and self._format is not None:
            return self._format.writing(by)
        if kind != "string":
            return write if read is _same else read if write is _same else lambda value: write(read(value))

        def convert(value: Any) -> Any:
            try:
                return write(read(value))
            except ValueError as error:
                raise TransformError(f"{what} cannot be read as a moment: {error}") from error

        return convert

    def _parsed(self, text: str) -> int:
        if self._format is None:
            raise ValueError("it is a text, and format is not given")
        try:
            return self._format.parse(text)
        except ValueError as error:
            raise ValueError(f"'{text}' is not of the format {self._format.pattern}: {error}") from error


def _same(value: Any) -> Any:
    return value


def _scaled(times: int, by: int) -> Convert:
    """What multiplies numbers, or divides them towards zero, as Java does; the result has 64 bits."""
    if times > 1:
        return lambda number: max(-(1 << 63), min(number * times, (1 << 63) - 1))
    if by > 1:
        return lambda number: -(-number // by) if number < 0 else number // by
    return _same


class TimestampConverterOfKey(KeyTransform, TimestampConverter):
    """The key with a moment of another type."""
