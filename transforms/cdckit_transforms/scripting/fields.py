"""Reads what expressions name: the parts of a record, and fields by their paths, worked out once for each schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdckit import Datum, Record, Schema, Struct, TransformError
from cdckit_transforms.envelope import Get, Holes, Layouts, getter
from cdckit_transforms.scripting.language import UNDEFINED, EvaluationError, Language
from cdckit_transforms.scripting.syntax import Member

Evaluate = Callable[[Record], Any]

CUT = object()
"""What a chain gives in JavaScript behind a `?.` that had nothing before it: the rest of the chain is left out."""


def failed(at: int, error: Exception) -> TransformError:
    """The error of a record for which the expression fails."""
    fault = error if isinstance(error, EvaluationError) else "a number is too large"
    return TransformError(f"column {at}: {fault}")


def variable(name: str, language: Language) -> Evaluate:
    """What gives the value of a name."""

    def whole(datum: Datum | None) -> Any:
        return (
            None if datum is None else datum if isinstance(datum, Struct) else language.seen(datum.value, datum.schema)
        )

    known: dict[str, Evaluate] = {
        "topic": lambda record: record.topic,
        "value": lambda record: whole(record.value),
        "key": lambda record: whole(record.key),
        "valueSchema": lambda record: record.value and record.value.schema,
        "keySchema": lambda record: record.key and record.key.schema,
        "header": lambda record: {header.key: header for header in record.headers},
        "undefined": lambda _: UNDEFINED,
    }
    return known[name]


def header(name: str, language: Language) -> Evaluate:
    """What gives a record's header."""

    def evaluate(record: Record) -> Any:
        found = record.header(name)
        return language.absent if found is None else found

    return evaluate


class FieldPath:
    """Fields of structs inside of each other, from the key or the value on.

    Args:
        part: `key` or `value`.
        members: the fields' names, from the outermost on.
        language: whose expression it is.
        goes_on: whether the chain goes on behind the path.
    """

    def __init__(self, part: str, members: list[Member], language: Language, *, goes_on: bool) -> None:
        self._whole = variable(part, language)
        self._of_key = part == "key"
        self._members = members
        self._language = language
        self._cuts = language.absent is UNDEFINED
        self._nothing = (CUT if goes_on else UNDEFINED) if self._cuts else None
        self._layouts: Layouts[Get] = Layouts(self._reading)

    def evaluation(self) -> Evaluate:
        """What gives the last field's value."""
        of = self._of_struct

        def of_value(record: Record) -> Any:
            datum = record.value
            if datum.__class__ is Struct and (read := datum.schema.derived.get(self)) is not None:
                return read(datum)
            return of(datum, record)

        def of_key(record: Record) -> Any:
            datum = record.key
            if datum.__class__ is Struct and (read := datum.schema.derived.get(self)) is not None:
                return read(datum)
            return of(datum, record)

        return of_key if self._of_key else of_value

    def _of_struct(self, datum: Datum | None, record: Record) -> Any:
        """Of a struct of a template, or the first one of its schema; or of what is no struct."""
        if not isinstance(datum, Struct):
            return self._along(self._whole(record), 0)
        read = self._layouts.of(datum)
        assert read is not None
        if datum.__class__ is Struct:
            datum.schema.derived[self] = read
        return read(datum)

    def _along(self, value: Any, start: int) -> Any:
        """The last field's value, step by step from one that the step `start` is made on."""
        for member in self._members[start:]:
            if member.safe and (value is None or value is UNDEFINED):
                if self._cuts:
                    return self._nothing
                continue
            try:
                value = self._language.member(value, member.name)
            except EvaluationError as error:
                raise failed(member.at, error) from None
        return value

    def _reading(self, schema: Schema, holes: Holes) -> Get:
        """What reads the last field out of structs of one layout."""
        path: list[int] = []
        for member in self._members:
            if schema.type != "struct" or member.name not in schema.index:
                return lambda struct: self._along(struct, 0)
            path.append(schema.index[member.name])
            schema = schema.fields[path[-1]].schema
        try:
            convert = self._language.conversion(schema)
        except EvaluationError:
            return lambda struct: self._along(struct, 0)
        get = getter(tuple(path), holes)
        instead = self._instead(tuple(path), holes, schema)
        if convert is None and len(path) == 1 and schema.default is None:
            return get

        def read(struct: Struct) -> Any:
            value = get(struct)
            if value is None:
                return instead(struct)
            return value if convert is None else convert(value)

        return read

    def _instead(self, path: tuple[int, ...], holes: Holes, schema: Schema) -> Get:
        """What takes the place of null: the field's default, or what comes of a struct on the way that is null."""
        outer = [getter(path[:length], holes) for length in range(1, len(path))]

        def instead(struct: Struct) -> Any:
            for step, get in enumerate(outer, 1):
                if get(struct) is None:
                    return self._along(None, step)
            return self._language.seen(None, schema)

        return instead
