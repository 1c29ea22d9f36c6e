"""The transform `MaskFields`."""

from __future__ import annotations

from cdckit import Record, Schema, Struct, Transform, TransformError
from cdckit_example.config import MaskFieldsConfig

_ROWS = ("before", "after")


class MaskFields(Transform):
    """Hides columns of the row, or of both rows where the value is a change event. Keys stay as they are."""

    def __init__(self, config: MaskFieldsConfig) -> None:
        self._fields = config.fields
        self._replacement = config.replacement

    def apply(self, record: Record) -> Record:
        """The record with its columns hidden; records without a struct pass."""
        value = record.value
        if not isinstance(value, Struct):
            return record
        if not any(name in value for name in _ROWS):
            return record.replace(value=self._masked(value))
        rows = {name: self._masked(value[name]) for name in _ROWS if isinstance(value.get(name), Struct)}
        return record.replace(value=value.replace(**rows))

    def _masked(self, row: Struct) -> Struct:
        hidden = {name: self._mask(name, row.schema) for name in self._fields if row.get(name) is not None}
        return row.replace(**hidden)

    def _mask(self, name: str, row: Schema) -> str | None:
        schema = row.field(name).schema
        if schema.type == "string":
            return self._replacement
        if schema.optional:
            return None
        raise TransformError(
            f"column '{name}' ({schema.type}) of {row.name} can be neither text nor null: leave it out"
        )
