"""ValueToKey: makes the key of fields of the value (Kafka Connect's transform of that name)."""

from __future__ import annotations

from cdckit import Record, Schema, SchemaAndValue, Struct, TransformError, struct_schema
from cdckit_transforms.name_lists import SomeNames, names
from cdckit_transforms.record_part import Change, FieldsTransform, Members, NullsConfig, filling
from cdckit_transforms.replace_field import picking


class ValueToKeyConfig(NullsConfig):
    """The fields."""

    fields: SomeNames
    """The fields of the value that make the key, with commas between, in their order."""


class ValueToKey(FieldsTransform):
    """Records with another key; records whose value is null have none of the fields, and stop the pipeline."""

    purpose = "copying fields from value to key"

    def __init__(self, config: ValueToKeyConfig) -> None:
        self._fields = names(config.fields)
        self._replaces_null = config.replace_null_with_default

    def apply(self, record: Record) -> Record:
        """The record with another key."""
        key = self.change(record.value, record)
        return Record(
            record.topic, key, record.value, record.headers, record.position, record.timestamp, record.partition
        )

    def change_of(self, schema: Schema) -> Change:
        """Makes keys of structs of a schema."""
        missing = [name for name in self._fields if name not in schema.index]
        if missing:
            raise TransformError(
                f"there is no field '{missing[0]}' in the value (there are: {', '.join(schema.index)})"
            )
        key = struct_schema(None, {name: schema.field(name).schema for name in self._fields})
        pick = picking([schema.index[name] for name in self._fields])
        fill = filling(key, replaces_null=self._replaces_null)
        if fill is None:
            return lambda values, _: Struct(key, pick(values))
        return lambda values, _: Struct(key, fill(pick(values)))

    def changed_map(self, members: Members, record: Record) -> Members:
        """The key of a value without a schema; a field that it lacks is null."""
        return {name: members.get(name) for name in self._fields}

    def changed_null(self, part: SchemaAndValue | None) -> SchemaAndValue | None:
        """An error: there are no fields."""
        raise self.no_fields(part)
