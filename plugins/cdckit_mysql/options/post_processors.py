"""Options: what is done to a row's values before its record is made (`post.processors`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from cdckit import ConfigError, NameList, PluginConfig, RegexList, split_names

RESELECT_COLUMNS = "ReselectColumnsPostProcessor"
_TYPES = (RESELECT_COLUMNS, f"io.debezium.processors.reselect.{RESELECT_COLUMNS}")


class ReselectColumnsConfig(PluginConfig):
    """Which columns of a changed row are read from their table once more."""

    reselect_columns_include_list: RegexList = ""
    """Columns: regular expressions that match a whole `database.table:column`; by default all."""
    reselect_columns_exclude_list: RegexList = ""
    """Columns that are left as they are; means nothing beside the include list."""
    reselect_unavailable_values: bool = True
    """Whether columns that the log does not carry are read."""
    reselect_null_values: bool = True
    """Whether columns that are null are read."""
    reselect_use_event_key: bool = False
    """Whether rows are looked up by the columns of the record's key, and not by the table's own key."""
    reselect_error_handling_mode: Literal["warn", "fail"] = "warn"
    """What becomes of a row that is not found, or cannot be read: it stays as the log has it, or the pipeline stops."""


class PostProcessorOptions(PluginConfig):
    """What is done to changed rows."""

    post_processors: NameList = ""
    """Names of what completes rows before their records are made, one after the other; what `NAME.type` and the other
    options of each say stands beside.
    """
    post_processor_options: dict[str, str] = Field(default_factory=dict)
    """For each name in `post.processors`: `NAME.type` (`ReselectColumnsPostProcessor`), and its options
    `NAME.reselect.*`.
    """

    named: ClassVar[Mapping[str, str]] = {"post.processors": "post_processor_options"}

    @model_validator(mode="after")
    def _known_post_processors(self) -> Self:
        reselections(self)
        return self


def reselections(options: PostProcessorOptions) -> list[ReselectColumnsConfig]:
    """The post processors of a configuration, in order.

    Raises:
        ValueError: one has no type, or another one, or an option of it cannot be understood.
    """
    return [_one(name, options.post_processor_options) for name in split_names(options.post_processors)]


def _one(name: str, given: Mapping[str, str]) -> ReselectColumnsConfig:
    own = {key.removeprefix(f"{name}."): value for key, value in given.items() if key.startswith(f"{name}.")}
    kind = own.pop("type", "")
    if kind not in _TYPES:
        raise ValueError(
            f"post.processors names '{name}', and {name}.type is '{kind}': it has to be {RESELECT_COLUMNS}; other Java "
            "classes cannot be loaded here: use transforms, or write one as a plugin"
        )
    try:
        return ReselectColumnsConfig.load(own, name)[0]
    except ConfigError as error:
        raise ValueError("; ".join(error.problems)) from error
