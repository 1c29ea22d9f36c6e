"""Registers Kafka Connect's own transforms, by its class names."""

from __future__ import annotations

from cdckit import Registration

_JAVA = "org.apache.kafka.connect.transforms"
_PACKAGE = "cdckit_transforms"


def _of_record(name: str, module: str, summary: str) -> Registration:
    """A transform of the whole record."""
    return Registration(
        name=name,
        factory=f"{_PACKAGE}.{module}:{name}",
        config=f"{_PACKAGE}.{module}:{name}Config",
        summary=summary,
        aliases=(f"{_JAVA}.{name}",),
    )


def _of_part(name: str, module: str, of_key: str, summary: str) -> tuple[Registration, Registration]:
    """A transform of the value, and the same of the key: Java's `Name$Value` and `Name$Key`."""
    config = f"{_PACKAGE}.{module}:{name}Config"
    value = Registration(
        name=name,
        factory=f"{_PACKAGE}.{module}:{name}",
        config=config,
        summary=summary,
        aliases=(f"{name}$Value", f"{_JAVA}.{name}$Value"),
    )
    key = Registration(
        name=f"{name}$Key",
        factory=f"{_PACKAGE}.{module}:{of_key}",
        config=config,
        summary=f"{name} of the key",
        aliases=(f"{_JAVA}.{name}$Key",),
    )
    return value, key


REGISTRATIONS = (
    *_of_part("Cast", "cast", "CastKey", "casts fields, or the whole value, to other primitive types"),
    _of_record("DropHeaders", "drop_headers", "leaves headers out"),
    *_of_part(
        "ExtractField", "extract_field", "ExtractFieldOfKey", "puts a field in the place of the struct that it is in"
    ),
    _of_record("Filter", "filter", "drops the records that its predicate means"),
    *_of_part("Flatten", "flatten", "FlattenKey", "makes the fields of nested structs the outer one's"),
    *_of_part("HeaderFrom", "header_from", "HeaderFromKey", "copies or moves fields into headers"),
    *_of_part("HoistField", "hoist_field", "HoistFieldOfKey", "puts the value into a struct with one field"),
    *_of_part(
        "InsertField",
        "insert_field",
        "InsertFieldIntoKey",
        "adds the record's topic, partition or time, or a fixed text, as fields",
    ),
    _of_record("InsertHeader", "insert_header", "gives each record the same header"),
    *_of_part(
        "MaskField", "mask_field", "MaskFieldOfKey", "puts zeros, or a text of one's own, in the place of values"
    ),
    *_of_part("ReplaceField", "replace_field", "ReplaceFieldOfKey", "leaves fields out, and renames others"),
    *_of_part(
        "SetSchemaMetadata", "set_schema_metadata", "SetSchemaMetadataOfKey", "gives the schema another name or version"
    ),
    *_of_part(
        "TimestampConverter",
        "timestamp_converter",
        "TimestampConverterOfKey",
        "converts a moment to a text, a number, a date or a time of day",
    ),
    _of_record("TimestampRouter", "timestamp_router", "names topics by the records' times"),
    _of_record("ValueToKey", "value_to_key", "makes the key of fields of the value"),
)
"""Sorted by name."""
