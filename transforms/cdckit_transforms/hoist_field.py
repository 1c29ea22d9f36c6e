"""HoistField: puts the key or value into a struct with one field (Kafka Connect's transform of that name)."""

from __future__ import annotations

from cdckit import (
    Datum,
    Record,
    Schema,
    SchemaAndValue,
    Struct,
    TransformError,
    struct_schema,
)
from cdckit_transforms.record_part import KafkaConfig, KeyTransform, ValueTransform


class HoistFieldConfig(KafkaConfig):
    """The field."""

    field: str
    """The name of the one field of the struct, or map where there is no schema."""


class HoistField(ValueTransform):
    """The value as a field."""

    def __init__(self, config: HoistFieldConfig) -> None:
        self._field = config.field

    def change(self, part: Datum | None, record: Record) -> Datum | None:
        """The struct or map around the part; around null, too."""
        if part is None or part.schema is None:
            return SchemaAndValue(None, {self._field: None if part is None else part.value})
        schema: Schema | None = part.schema.derived.get(self)
        if schema is None:
            schema = part.schema.derived[self] = struct_schema(None, {self._field: part.schema})
        if isinstance(part, Struct):
            return Struct(schema, (part,))
        if part.value is None and not part.schema.optional and part.schema.default is None:
            raise TransformError(f"the {self.part} is null, which its schema does not allow in field '{self._field}'")
        return Struct(schema, (part.value,))


class HoistFieldOfKey(KeyTransform, HoistField):
    """The key as a field."""
