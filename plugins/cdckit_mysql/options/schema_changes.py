"""Options: records that tell of changed definitions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from cdckit import PluginConfig

SchemaChangeFormatName = Annotated[
    Literal["3", "1.9", "1.1", "history"],
    BeforeValidator(lambda value: str(value) if isinstance(value, int | float) else value),
]


class SchemaChangeOptions(PluginConfig):
    """The schema-change topic."""

    include_schema_changes: bool = True
    """Whether changes of definitions are records, too, in the topic `topic.prefix`."""
    include_schema_comments: bool = False
    """Whether these records show the comments of tables and columns, and the schemas of rows those of columns."""
    schema_change_format: SchemaChangeFormatName | None = None
    """What these records look like: as those of Debezium `3`, `1.9` or `1.1`, or as the documents of its schema
    `history`; by default what `event.format` says.
    """
