"""MaskField: a type's zero, or a text of one's own, in the place of values (Kafka Connect's transform of that name)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import StringConstraints

from cdckit import Record, Schema, SchemaAndValue, TransformError, logical
from cdckit.connector.connect_json.decimals import bytes_of
from cdckit_transforms.java_numbers import decimal_of, float32, narrowed
from cdckit_transforms.name_lists import SomeNames, names
from cdckit_transforms.record_part import Change, FieldsTransform, KeyTransform, Members, NullsConfig, converting

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_DATES = (logical.CONNECT_DATE.name, logical.CONNECT_TIME.name, logical.CONNECT_TIMESTAMP.name)
_ZEROS: dict[str, Any] = {
    **dict.fromkeys(_BITS, 0), "float32": 0.0, "float64": 0.0, "boolean": False, "string": "", "array": [], "map": {},
}  # fmt: skip


class MaskFieldConfig(NullsConfig):
    """Which fields are masked, and by what."""

    fields: SomeNames
    """The fields' names, with commas between."""
    replacement: Annotated[str, StringConstraints(min_length=1)] | None = None
    """What stands in the fields, which must be texts or numbers then; by default 0, false, an empty text, list or map,
    1970-01-01, midnight, as the type is."""


class MaskField(FieldsTransform):
    """The value with some fields masked; those that are null stay null."""

    purpose = "masking fields"

    def __init__(self, config: MaskFieldConfig) -> None:
        self._fields = frozenset(names(config.fields))
        self._replacement = config.replacement
        self._replaces_null = config.replace_null_with_default

    @property
    def conceals(self) -> bool:
        """It does."""
        return True

    def change_of(self, schema: Schema) -> Change:
        """Masks the fields of structs of a schema."""
        masks = {
            field.index: _putting(self._mask(field.name, field.schema))
            for field in schema.fields
            if field.name in self._fields
        }
        return converting(schema, schema, masks, replaces_null=self._replaces_null)

    def changed_map(self, members: Members, record: Record) -> Members:
        """The map with the members masked; those that it lacks are null in it."""
        return {**members, **{name: self._masked(name, members.get(name)) for name in self._fields}}

    def changed_null(self, part: SchemaAndValue | None) -> SchemaAndValue | None:
        """An error: Kafka Connect masks no nulls, tombstones among them."""
        raise self.no_fields(part)

    def _masked(self, name: str, value: Any) -> Any:
        if value is None:
            return None
        mask = self._mask(name, _schema_of(value))
        if isinstance(mask, TransformError):
            raise mask
        return mask

    def _mask(self, name: str, schema: Schema) -> Any:
        """What stands for the values of a field, or the error that one which is not null is."""
        fault = TransformError(f"field '{name}' is {schema.name or schema.type}, which has no mask")
        if self._replacement is None:
            return b"\0" if schema.name == logical.DECIMAL_NAME else _ZEROS.get(schema.type, fault)
        try:
            return _converted(self._replacement, schema, fault)
        except (InvalidOperation, ValueError, ArithmeticError):
            return TransformError(f"field '{name}' is {schema.type}, and the replacement is no such number")


def _putting(mask: Any) -> Callable[[Any], Any]:
    """What puts a mask in the place of values, or raises what there is in its stead."""
    if not isinstance(mask, TransformError):
        return lambda _: mask

    def refuse(_: Any) -> Any:
        raise mask

    return refuse


def _schema_of(value: Any) -> Schema:
    """The type of a value without a schema."""
    kinds = {bool: "boolean", int: "int64", float: "float64", str: "string", list: "array", dict: "map"}
    return Schema(kinds.get(type(value), "bytes"))  # type: ignore[arg-type]


def _converted(text: str, schema: Schema, fault: TransformError) -> Any:
    """The replacement as a value of a field's type.

    Raises:
        ValueError, ArithmeticError: it is none.
    """
    if schema.type == "string":
        return text
    if schema.name in _DATES or schema.type not in (*_BITS, "float32", "float64", "bytes"):
        return fault
    if schema.type == "bytes" and schema.name != logical.DECIMAL_NAME:
        return fault
    number = decimal_of(text)
    if schema.type in _BITS:
        return narrowed(int(number), _BITS[schema.type])
    if schema.type == "bytes":
        return _exact(number, int((schema.parameters or {}).get("scale", 0)))
    return float32(float(number)) if schema.type == "float32" else float(number)


def _exact(number: Decimal, scale: int) -> bytes:
    if number != round(number, scale):
        raise ValueError(f"has more than {scale} digits behind the point")
    return bytes_of(number, scale)


class MaskFieldOfKey(KeyTransform, MaskField):
    """The key with some fields masked."""
