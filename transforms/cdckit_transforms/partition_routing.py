"""PartitionRouting: chooses the partition by fields of the event (Debezium's transform of that name)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from cdckit import PluginConfig, Record, Schema, Struct, Transform, TransformError, split_names
from cdckit.connector.envelope import is_envelope
from cdckit_transforms.envelope import AFTER, BEFORE, DELETE, OPERATION, Layouts
from cdckit_transforms.folding import folded
from cdckit_transforms.java_hashes import java_hash, murmur_hash
from cdckit_transforms.name_lists import SomeNames

_NO_ROWS = ("t", "m")
"""The operations without a row: a truncation, and a message."""
_CHANGE = "change"
_LARGEST = 2**31 - 1
Hashed = Callable[[Struct], int | None]
"""The hash of one field of an event; None where the event has no such value."""


class PartitionRoutingConfig(PluginConfig):
    """Which fields, and how many partitions."""

    partition_payload_fields: SomeNames
    """The fields, with commas between: `source.table`, `after.id`, or `change.id` for that of the row as it is after
    the change, or before a delete. What an event does not have is left out."""
    partition_topic_num: Annotated[int, Field(ge=1, le=_LARGEST)]
    """How many partitions the topic has."""
    partition_hash_function: Annotated[Literal["java", "murmur"], BeforeValidator(folded)] = "java"
    """What makes a number of the fields' values: `java`, as Java's `hashCode`, or `murmur`, which spreads better."""


class PartitionRouting(Transform):
    """Gives change events the partition that their fields make; everything else passes."""

    def __init__(self, config: PartitionRoutingConfig) -> None:
        self._paths = [
            [name.strip() for name in path.split(".")] for path in split_names(config.partition_payload_fields)
        ]
        self._partitions = config.partition_topic_num
        self._hash = murmur_hash if config.partition_hash_function == "murmur" else java_hash
        self._layouts = Layouts(lambda schema, _: self._hashing(schema))

    def apply(self, record: Record) -> Record:
        """The record with its partition; as it is where it has none of the fields."""
        value = record.value
        if not isinstance(value, Struct) or (hashes := self._layouts.of(value)) is None:
            return record
        operation = value[OPERATION]
        if operation in _NO_ROWS:
            return record
        found = [one for hashed in hashes[operation == DELETE] if (one := hashed(value)) is not None]
        if not found:
            return record
        positive = sum(found) & _LARGEST
        return record.replace(partition=(0 if positive == _LARGEST else positive) % self._partitions)

    def _hashing(self, schema: Schema) -> tuple[list[Hashed], list[Hashed]] | None:
        """What hashes the fields of events of a schema, and of deletes."""
        if not is_envelope(schema) or OPERATION not in schema.index:
            return None
        return self._of_rows(schema, AFTER), self._of_rows(schema, BEFORE)

    def _of_rows(self, schema: Schema, row: str) -> list[Hashed]:
        found = (
            self._of_path(schema, [*(row if step == _CHANGE else step for step in path[:-1]), path[-1]])
            for path in self._paths
        )
        return [hashed for hashed in found if hashed is not None]

    def _of_path(self, schema: Schema, path: list[str]) -> Hashed | None:
        """None where there is no such field."""
        places = []
        for step in path:
            if schema.type != "struct" or step not in schema.index:
                return None
            places.append(schema.index[step])
            schema = schema.field(step).schema
        try:
            return _hashed(places, schema.default, self._hash(schema))
        except TransformError as error:
            raise TransformError(f"field '{'.'.join(path)}' (partition.payload.fields): {error}") from error


def _hashed(places: list[int], default: Any, make: Callable[[Any], int]) -> Hashed:
    def hashed(struct: Struct) -> int | None:
        value: Any = struct
        for at in places:
            if value is None:
                return None
            value = value.values[at]
        if value is None:
            value = default
        return None if value is None else make(value)

    return hashed
