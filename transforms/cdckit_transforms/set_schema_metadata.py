"""SetSchemaMetadata: another name and version for the schema (Kafka Connect's transform of that name)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from pydantic import model_validator

from cdckit import Datum, Record, Schema, SchemaAndValue, Struct, TransformError
from cdckit_transforms.record_part import KeyTransform, NullsConfig, Values, ValueTransform, filling


class SetSchemaMetadataConfig(NullsConfig):
    """The name and the version."""

    schema_name: str | None = None
    """The schema's new name; by default it stays."""
    schema_version: int | None = None
    """The schema's new version, a whole number; by default it stays."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.schema_name is None and self.schema_version is None:
            raise ValueError("give schema.name, schema.version or both")
        return self


class SetSchemaMetadata(ValueTransform):
    """The value under another schema's name."""

    def __init__(self, config: SetSchemaMetadataConfig) -> None:
        given = {"name": config.schema_name, "version": config.schema_version}
        self._metadata = {name: value for name, value in given.items() if value is not None}
        self._replaces_null = config.replace_null_with_default

    def change(self, part: Datum | None, record: Record) -> Datum | None:
        """The part with another schema; what has neither value nor schema stays."""
        if part is None or part.schema is None:
            if part is None or part.value is None:
                return part
            raise TransformError(f"the {self.part} has no schema whose name or version could be set")
        schema = part.schema
        known = schema.derived.get(self)
        if known is None:
            known = schema.derived[self] = self._known(schema)
        other, fill = known
        if isinstance(part, Struct):
            return Struct(other, part.values if fill is None else fill(part.values))
        return SchemaAndValue(other, part.value)

    def _known(self, schema: Schema) -> tuple[Schema, Callable[[Values], Values] | None]:
        other = schema.replace(**self._metadata)
        return other, filling(schema, replaces_null=self._replaces_null)


class SetSchemaMetadataOfKey(KeyTransform, SetSchemaMetadata):
    """The key under another schema's name."""
