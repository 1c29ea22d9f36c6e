"""SchemaChangeEventFilter: drops schema changes of some types (Debezium's transform of that name)."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator

from cdckit import PluginConfig, Record, Struct, Transform, TransformError, split_names
from cdckit_transforms.name_lists import SomeNames

ChangeType = Literal["CREATE", "ALTER", "DROP", "TRUNCATE", "DATABASE"]
_OF_A_DATABASE: ChangeType = "DATABASE"
_TABLE_CHANGES = "tableChanges"


def _checked(text: str) -> str:
    wrong = [name for name in split_names(text) if name not in get_args(ChangeType)]
    if wrong:
        raise ValueError(f"'{wrong[0]}' is none of {', '.join(get_args(ChangeType))}")
    return text


class SchemaChangeEventFilterConfig(PluginConfig):
    """Which changes go."""

    schema_change_event_exclude_list: Annotated[SomeNames, AfterValidator(_checked)]
    """The types of the schema changes to drop, with commas between: CREATE, ALTER, DROP and TRUNCATE of a table, and
    DATABASE for what is of none."""


class SchemaChangeEventFilter(Transform):
    """Drops schema changes by what they do to their first table; everything else passes."""

    def __init__(self, config: SchemaChangeEventFilterConfig) -> None:
        self._dropped = frozenset(split_names(config.schema_change_event_exclude_list))

    def apply(self, record: Record) -> Record | None:
        """The record, unless it is of a type to drop."""
        value = record.value
        if not isinstance(value, Struct) or not str(value.schema.name).endswith(".SchemaChangeValue"):
            return record
        if _TABLE_CHANGES not in value:
            raise TransformError(f"the schema change has no field '{_TABLE_CHANGES}' to tell its type by")
        changes = value[_TABLE_CHANGES]
        if changes is None:
            return None
        return None if (changes[0]["type"] if changes else _OF_A_DATABASE) in self._dropped else record
