"""EnforceRecordSize: cuts long texts and bytes, so that events stay small (Debezium's transform of that name)."""

from __future__ import annotations

from math import ceil
from typing import Annotated, NamedTuple

from pydantic import Field

from cdckit import PluginConfig, Record, Struct, Transform, logical
from cdckit_transforms.envelope import AFTER, BEFORE
from cdckit_transforms.record_sizes import record_size


class EnforceRecordSizeConfig(PluginConfig):
    """How large a record may be, and what is cut."""

    max_bytes: Annotated[int, Field(gt=0)]
    """The largest size, in bytes, as a record in a JVM would have it: about 56 for each struct and text, 24 for each
    number, 8 for each field, 100 for each header, and the texts' and bytes' own."""
    compression_ratio: Annotated[float, Field(gt=0)] = 1.0
    """By what that size is multiplied before it is compared, such as 0.5 where messages are half as large."""
    min_field_size: Annotated[int, Field(ge=0)] = 25_000
    """Texts and bytes up to this length are not cut."""


class _Long(NamedTuple):
    """A text, or bytes, that may be cut: the field's place, and how long it is."""

    at: int
    length: int


class EnforceRecordSize(Transform):
    """Records whose longest fields of `before` and `after` are cut, each by its share of what is too much."""

    def __init__(self, config: EnforceRecordSizeConfig) -> None:
        self._largest = config.max_bytes
        self._ratio = config.compression_ratio
        self._shortest = config.min_field_size

    def apply(self, record: Record) -> Record:
        """The record; as it is where it is small enough, or has nothing to cut."""
        value = record.value
        if not isinstance(value, Struct):
            return record
        excess = ceil(record_size(record) * self._ratio) - self._largest
        if excess <= 0:
            return record
        rows = {name: row for name in (BEFORE, AFTER) if isinstance(row := value.get(name), Struct)}
        long = {name: self._long(row) for name, row in rows.items()}
        total = sum(one.length for fields in long.values() for one in fields)
        if not total:
            return record
        cut = {name: _cut(row, long[name], total, excess) for name, row in rows.items()}
        return record.replace(value=value.replace(**cut))

    def _long(self, row: Struct) -> list[_Long]:
        found = []
        for field in row.schema.fields:
            value = row.values[field.index]
            if (
                field.schema.type in ("string", "bytes")
                and field.schema.name != logical.DECIMAL_NAME
                and value is not None
            ):
                found.append(_Long(field.index, len(value)))
        return [one for one in found if one.length > self._shortest]


def _cut(row: Struct, long: list[_Long], total: int, excess: int) -> Struct:
    """The row with its long fields cut."""
    own = sum(one.length for one in long)
    if not own:
        return row
    too_much = ceil(own / total * excess)
    values = list(row.values)
    for at, length in long:
        values[at] = values[at][: max(0, length - ceil(length / own * too_much))]
    return Struct(row.schema, tuple(values))
