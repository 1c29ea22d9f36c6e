"""Envelopes under another topic's names: the schemas are renamed, the rows stay what they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdckit import Datum, Field, Group, Path, Schema, Struct, Template, TemplateStruct
from cdckit.connector.avro_names import Adjust
from cdckit.connector.envelope import is_envelope
from cdckit_transforms.envelope import AFTER, BEFORE, Holes, Layouts


@dataclass(frozen=True, slots=True)
class _Renamed:
    """The new schemas of an envelope, and where its rows stand.

    Attributes:
        envelope: the new schema of the whole.
        row: the new schema of its rows; None where rows are no structs.
        rows: the rows' indexes in the envelope.
        fills: the rows' indexes among what fills the template's holes.
    """

    envelope: Schema
    row: Schema | None
    rows: tuple[int, ...]
    fills: tuple[int, ...]


class EnvelopeRenamer:
    """Renames envelopes for one topic.

    Args:
        topic: what the new schemas' names begin with.
        adjust: what is done to a schema's name.
    """

    def __init__(self, topic: str, adjust: Adjust) -> None:
        self._topic = topic
        self._adjust = adjust
        self._layouts = Layouts(self._layout)
        self._old: Template | None = None
        self._new: Template | None = None
        self._renamed: _Renamed | None = None
        self._only_row: Schema | None = None
        """The rows' new schema, where the template's structs have one row, and it is the first that fills a hole."""

    def rename(self, value: Datum | None) -> Datum | None:
        """The envelope under its new names; whatever is no envelope stays as it is."""
        if isinstance(value, TemplateStruct):
            if value.template is not self._old:
                self._meet(value)
            if self._new is None or self._renamed is None:
                return value
            fills = value.fills
            if self._only_row is not None and (row := fills[0]) is not None:
                return TemplateStruct(self._new, (Struct(self._only_row, row.values), *fills[1:]))
            return TemplateStruct(self._new, _with_rows(fills, self._renamed.fills, self._renamed.row))
        renamed = self._layouts.of(value) if isinstance(value, Struct) else None
        if renamed is None or not isinstance(value, Struct):
            return value
        return Struct(renamed.envelope, _with_rows(value.values, renamed.rows, renamed.row))

    def of_group(self, group: Group) -> Group:
        """The same for all envelopes of a template."""
        if group.row is not None:
            return group
        if group.template is not self._old:
            self._meet(TemplateStruct(group.template, ()))
        if self._new is None or self._renamed is None:
            return group
        if self._renamed.row is None:
            return group._replace(template=self._new)
        return group._replace(template=self._new, rows=self._renamed.row, row_holes=self._renamed.fills)

    def _meet(self, value: TemplateStruct) -> None:
        """Renames a template that comes for the first time; all its structs will share the new one."""
        self._old, self._new, self._renamed = value.template, None, self._layouts.of(value)
        if self._renamed is not None:
            values = _with_rows(value.template.values, self._renamed.rows, self._renamed.row)
            self._new = Template(self._renamed.envelope, values, value.template.holes)
            self._only_row = self._renamed.row if self._renamed.fills == (0,) else None

    def _layout(self, schema: Schema, holes: Holes) -> _Renamed | None:
        if not is_envelope(schema):
            return None
        rows = tuple(schema.index[name] for name in (BEFORE, AFTER) if name in schema.index)
        row = next((self._row_schema(schema.fields[at].schema) for at in rows), None)
        fields = tuple(Field(f.name, f.index, row) if row and f.index in rows else f for f in schema.fields)
        envelope = schema.replace(name=self._adjust(f"{self._topic}.Envelope"), fields=fields, default=None)
        places: list[Path] = [(at,) for at in rows]
        fills = tuple(index for index, hole in enumerate(holes) if hole in places)
        return _Renamed(envelope, row, rows, fills)

    def _row_schema(self, schema: Schema) -> Schema | None:
        if schema.type != "struct":
            return None
        return schema.replace(name=self._adjust(f"{self._topic}.Value"), default=None)


def _with_rows(values: tuple[Any, ...], places: tuple[int, ...], row: Schema | None) -> tuple[Any, ...]:
    """The values with the rows at `places` under their new schema."""
    if row is None:
        return values
    if places == (0,):
        return (values[0] and Struct(row, values[0].values), *values[1:])
    changed = list(values)
    for at in places:
        if changed[at] is not None:
            changed[at] = Struct(row, changed[at].values)
    return tuple(changed)
