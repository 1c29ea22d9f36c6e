"""The geometries in a value, changed at whatever depth they stand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from cdckit import Record, Schema, Struct, Transform, TransformError, logical
from cdckit_transforms.record_part import filling

Change = Callable[[Any], Any]


class GeometryTransform(Transform):
    """Changes the geometries of values that are structs; a field that is null and has a default takes it."""

    @abstractmethod
    def changed(self, data: bytes, srid: int | None) -> bytes:
        """What the bytes of a geometry become.

        Raises:
            ValueError: they are none.
        """

    def apply(self, record: Record) -> Record:
        """The record with other geometries."""
        value = record.value
        if not isinstance(value, Struct):
            return record
        change = self._changing(value.schema)
        return record if change is None else record.replace(value=change(value))

    def _changing(self, schema: Schema) -> Change | None:
        """What changes values of a schema that are not null; None where they stay."""
        if self not in schema.derived:
            schema.derived[self] = self._make(schema)
        made: Change | None = schema.derived[self]
        return made

    def _make(self, schema: Schema) -> Change | None:
        if schema.name == logical.GEOMETRY.name:
            return self._geometry
        if schema.type == "struct":
            return self._of_struct(schema)
        item = None if schema.items is None else self._changing(schema.items)
        if item is None:
            return None
        if schema.keys is None:
            return lambda items: [None if one is None else item(one) for one in items]
        return lambda members: {name: None if one is None else item(one) for name, one in members.items()}

    def _of_struct(self, schema: Schema) -> Change | None:
        found = [(field.index, field.name, self._changing(field.schema)) for field in schema.fields]
        changes = [(at, name, changed) for at, name, changed in found if changed is not None]
        fill = filling(schema, replaces_null=True)
        if not changes and fill is None:
            return None

        def change(struct: Struct) -> Struct:
            values = list(struct.values if fill is None else fill(struct.values))
            for at, name, changed in changes:
                if values[at] is not None:
                    values[at] = _naming_field(name, changed, values[at])
            return Struct(schema, tuple(values))

        return change

    def _geometry(self, geometry: Struct) -> Struct:
        data = geometry.get("wkb")
        if data is None:
            return geometry
        return geometry.replace(wkb=self.changed(data, geometry.get("srid")))


def _naming_field(name: str, change: Change, value: Any) -> Any:
    """Changes a field, and tells which it is where that fails."""
    try:
        return change(value)
    except (ValueError, IndexError) as error:
        raise TransformError(f"field '{name}' holds no geometry: {error}") from error
