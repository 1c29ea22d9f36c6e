"""Change-event envelopes: how they are recognised, and how they are read whether plain or made of a template.

The names are those of Debezium's `io.debezium.data.Envelope`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeGuard, TypeVar

from cdckit import Datum, Path, Record, Schema, SchemaAndValue, Struct, Template, TemplateStruct

BEFORE, AFTER, SOURCE, TRANSACTION, OPERATION = "before", "after", "source", "transaction", "op"
READ, CREATE, DELETE = "r", "c", "d"

Holes = tuple[Path, ...]
Get = Callable[[Struct], Any]
Layout = TypeVar("Layout")


def is_plain_envelope(datum: Datum) -> TypeGuard[SchemaAndValue]:
    """Whether a value without a schema is a change event: it has an operation, a source, and a row."""
    if isinstance(datum, Struct) or datum.schema is not None or not isinstance(datum.value, dict):
        return False
    members = datum.value.keys()
    return OPERATION in members and SOURCE in members and (AFTER in members or BEFORE in members)


def is_null(datum: Datum | None) -> bool:
    """Whether there is no value, be it that a schema says of what kind it would be."""
    return datum is None or (not isinstance(datum, Struct) and datum.value is None)


def with_value(record: Record, value: Datum | None) -> Record:
    """The record with another value."""
    return Record(record.topic, record.key, value, record.headers, record.position, record.timestamp, record.partition)


def getter(path: Path, holes: Holes) -> Get:
    """The function that takes the value at `path` out of a struct.

    Args:
        path: where the value stands; a struct that is None on the way gives None.
        holes: those of the template that the structs are made of; none for plain structs.
    """
    for length in range(1, len(path) + 1):
        if path[:length] in holes:
            return _from_fills(holes.index(path[:length]), path[length:])
    shared = bool(holes) and not any(hole[: len(path)] == path for hole in holes)
    return _from_template(path) if shared else _from_struct(path)


def _from_fills(at: int, rest: Path) -> Get:
    if not rest:
        return lambda struct: struct.fills[at]  # type: ignore[attr-defined]
    return lambda struct: _inside(struct.fills[at], rest)  # type: ignore[attr-defined]


def _from_template(path: Path) -> Get:
    at, *rest = path
    if not rest:
        return lambda struct: struct.template.values[at]  # type: ignore[attr-defined]
    return lambda struct: _inside(struct.template.values[at], rest)  # type: ignore[attr-defined]


def _from_struct(path: Path) -> Get:
    at, *rest = path
    if not rest:
        return lambda struct: struct.values[at]
    return lambda struct: _inside(struct.values[at], rest)


def _inside(value: Any, path: Path | list[int]) -> Any:
    for at in path:
        if value is None:
            return None
        value = value.values[at]
    return value


class Layouts(Generic[Layout]):
    """What a transform works out once for all structs of one schema whose templates have the same holes.

    Args:
        make: works it out for a schema and its template's holes (none for plain structs); None where the transform
            has nothing to do with such structs.
    """

    def __init__(self, make: Callable[[Schema, Holes], Layout | None]) -> None:
        self._make = make
        self._template: Template | None = None
        self._last: Layout | None = None

    def of(self, struct: Struct) -> Layout | None:
        """The layout of one struct; the structs of one template mostly come one after the other."""
        if not isinstance(struct, TemplateStruct):
            return self._known(struct.schema, ())
        template = struct.template
        if template is not self._template:
            self._last = self._known(template.schema, template.holes)
            self._template = template
        return self._last

    def _known(self, schema: Schema, holes: Holes) -> Layout | None:
        known: dict[Holes, Layout | None] | None = schema.derived.get(self)
        if known is None:
            known = schema.derived[self] = {}
        if holes not in known:
            known[holes] = self._make(schema, holes)
        return known[holes]
