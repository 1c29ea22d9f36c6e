"""The options of everything here. A field `a_b` is the option `a.b`; its docstring is what `cdc describe` shows."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field, PositiveInt

from cdckit import PluginConfig, SourceConfig


class FolderConfig(SourceConfig):
    """Options of the source `folder`."""

    named_by: ClassVar[str] = "topic_prefix"

    topic_prefix: str
    """The first part of each topic's name; the file's name is the second."""
    path: Path
    """The folder. Each file `NAME.jsonl` in it is a table; a line is a row as a JSON object."""
    key_field: str = "id"
    """The member of each row that is its key."""
    poll_interval_ms: PositiveInt = 100
    """How often to look for new lines, in milliseconds."""


class SqliteConfig(PluginConfig):
    """Options of the sink `sqlite`."""

    path: Path
    """The SQLite file; it is made when it is missing."""


class JsonFilesConfig(PluginConfig):
    """Options of the state store `json-files`."""

    path: Path
    """The folder. The state of a pipeline is `NAME.json` in it."""


class MaskFieldsConfig(PluginConfig):
    """Options of the transform `MaskFields`."""

    fields: list[str] = Field(min_length=1)
    """The columns to hide."""
    replacement: str = "***"
    """What stands in their place where the column holds text; other columns become null."""
