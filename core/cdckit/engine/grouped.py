"""Transforms applied to whole groups of records at once, where each of them can say what it does to all alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cdckit.api.group import Group
from cdckit.api.record import Datum, Record
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct, TemplateStruct
from cdckit.api.transform import Transform

_STRIDE = 8
"""Groups are looked for in steps of so many records: smaller ones cost more than they save."""

Each = Callable[[Sequence[Record]], Sequence[Record]]


def takes_groups(transform: Transform) -> bool:
    """Whether a transform may say what it does to a group."""
    return type(transform).of_group is not Transform.of_group


class GroupedSteps:
    """Applies transforms that follow one another: once to a group, or to each record where one of them has to see it.

    Args:
        transforms: in their order; each takes groups.
        each: applies them to records one by one.
    """

    def __init__(self, transforms: Sequence[Transform], each: Each) -> None:
        self._transforms = transforms
        self._each = each

    def __call__(self, records: Sequence[Record]) -> Sequence[Record]:
        """What the records become, in their order."""
        changed: list[Record] = []
        done = at = 0
        while at + _STRIDE < len(records):
            if not _alike(records[at], records[at + _STRIDE]):
                at += _STRIDE
                continue
            start, end = _run(records, at, done)
            made = self._of_group(records[start:end]) if end - start >= _STRIDE else None
            if made is not None:
                changed += self._each(records[done:start]) if done < start else ()
                changed += made
                done = end
            at = end
        return [*changed, *self._each(records[done:])] if done < len(records) else changed

    def _of_group(self, records: Sequence[Record]) -> list[Record] | None:
        """What the records of a group become; None where they have to be seen one by one."""
        first = records[0]
        if not isinstance(first.value, TemplateStruct) or not isinstance(first.key, Struct):
            return None
        given = group = Group(first.topic, first.key.schema, first.value.template)
        try:
            for transform in self._transforms:
                after = transform.of_group(group)
                if after is None:
                    return None
                group = after
            return _made(records, given, group)
        except Exception:  # noqa: BLE001 - of the records one by one the fault is told with its place
            return None


def _alike(one: Record, other: Record) -> bool:
    """Whether two records are of a group."""
    value, there = one.value, other.value
    return (
        value.__class__ is TemplateStruct
        and there.__class__ is TemplateStruct
        and value.template is there.template
        and one.topic == other.topic
        and one.key.__class__ is Struct
        and other.key.__class__ is Struct
        and one.key.schema is other.key.schema
    )


def _run(records: Sequence[Record], at: int, least: int) -> tuple[int, int]:
    """Where the group begins and ends that the record `at` is of."""
    one, start = records[at], at
    while start > least and _alike(one, records[start - 1]):
        start -= 1
    topic, schema, template = one.topic, one.key.schema, one.value.template  # type: ignore[union-attr] # see `_alike`
    for end in range(at + 1, len(records)):  # what `_alike` asks, without a call for each record
        record = records[end]
        key, value = record.key, record.value
        if (
            value.__class__ is not TemplateStruct
            or value.template is not template
            or key.__class__ is not Struct
            or key.schema is not schema
            or record.topic != topic
        ):
            return start, end
    return start, len(records)


def _made(records: Sequence[Record], given: Group, group: Group) -> list[Record]:
    """The records that a group's become."""
    keys = [record.key for record in records]
    if group.key is not given.key or group.added_to_key:
        schema, more = group.key, group.added_to_key
        keys = [Struct(schema, key.values + more) for key in keys]  # type: ignore[union-attr] # see `_alike`
    topic, values = group.topic, _values(records, given, group)
    return [
        Record(topic, key, value, record.headers, record.position, record.timestamp, record.partition)
        for record, key, value in zip(records, keys, values, strict=True)
    ]


def _values(records: Sequence[Record], given: Group, group: Group) -> Sequence[Datum | None]:
    if group.template is given.template and group.rows is None and group.row is None:
        return [record.value for record in records]
    fills = [record.value.fills for record in records]  # type: ignore[union-attr] # see `_alike`
    if group.row is None:
        return _envelopes(fills, group)
    assert group.row_schema is not None
    schema, more, at = group.row_schema, group.added_to_row, group.row
    if group.defaults:
        rows = [_without_nulls(fill[at].values, group.defaults) for fill in fills]
        return [Struct(schema, row + more) for row in rows]
    return [Struct(schema, fill[at].values + more) for fill in fills]


def _envelopes(fills: Sequence[tuple[Any, ...]], group: Group) -> list[Datum | None]:
    template, rows, places = group.template, group.rows, group.row_holes
    if rows is None:
        return [TemplateStruct(template, fill) for fill in fills]
    if places == (0,):
        return [TemplateStruct(template, (fill[0] and Struct(rows, fill[0].values), *fill[1:])) for fill in fills]
    return [TemplateStruct(template, _renamed(fill, places, rows)) for fill in fills]


def _renamed(fill: tuple[Any, ...], places: Sequence[int], rows: Schema) -> tuple[Any, ...]:
    """What fills a template's holes, the rows under their new schema."""
    changed = list(fill)
    for at in places:
        if changed[at] is not None:
            changed[at] = Struct(rows, changed[at].values)
    return tuple(changed)


def _without_nulls(values: tuple[Any, ...], defaults: tuple[Any, ...]) -> tuple[Any, ...]:
    if None not in values:
        return values
    return tuple([default if value is None else value for value, default in zip(values, defaults, strict=True)])
