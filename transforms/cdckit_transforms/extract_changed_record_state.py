"""ExtractChangedRecordState: tells in headers which fields an update changed (Debezium's transform of that name)."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit import OPTIONAL_STRING, Header, PluginConfig, Record, Schema, Struct, Transform, array_schema
from cdckit.connector.envelope import is_envelope
from cdckit_transforms.envelope import AFTER, BEFORE, Get, Holes, Layouts, getter


class ExtractChangedRecordStateConfig(PluginConfig):
    """The headers' names."""

    header_changed_name: str | None = None
    """The header that lists the fields which an update changed; by default there is none."""
    header_unchanged_name: str | None = None
    """The header that lists the others; by default there is none."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """What takes the rows out of an envelope."""

    before: Get
    after: Get


class ExtractChangedRecordState(Transform):
    """Change events with headers that list fields; the lists are empty where there is no row before or after."""

    def __init__(self, config: ExtractChangedRecordStateConfig) -> None:
        given = ((config.header_changed_name, True), (config.header_unchanged_name, False))
        self._told = [(name, _names_schema(name), changed) for name, changed in given if name and name.strip()]
        self._layouts = Layouts(_rows)

    def apply(self, record: Record) -> Record:
        """The record with the headers."""
        value = record.value
        if not self._told or not isinstance(value, Struct) or (rows := self._layouts.of(value)) is None:
            return record
        before, after = rows.before(value), rows.after(value)
        changed, unchanged = _compared(before, after) if before is not None and after is not None else ([], [])
        told = [Header(name, changed if of_changed else unchanged, schema) for name, schema, of_changed in self._told]
        return record.replace(headers=(*record.headers, *told))


def _names_schema(name: str) -> Schema:
    return array_schema(OPTIONAL_STRING, optional=True, name=name)


def _rows(schema: Schema, holes: Holes) -> _Rows | None:
    if not is_envelope(schema) or BEFORE not in schema.index or AFTER not in schema.index:
        return None
    return _Rows(getter((schema.index[BEFORE],), holes), getter((schema.index[AFTER],), holes))


def _compared(before: Struct, after: Struct) -> tuple[list[str], list[str]]:
    """The fields that differ, and those that do not."""
    changed: list[str] = []
    unchanged: list[str] = []
    for field, old, new in zip(after.schema.fields, before.values, after.values, strict=True):
        (unchanged if old is new or old == new else changed).append(field.name)
    return changed, unchanged
