"""Options: which databases, collections, fields and operations are captured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from cdckit import NameList, patterns, split_names
from cdckit.connector.options import capture
from cdckit_mongodb.field_paths import parse_exclusions, parse_renames


def _groups(value: Any) -> Any:
    """The groups of a text with `;` between them, or as YAML has them."""
    return [part for part in value.split(";") if part.strip()] if isinstance(value, str) else value or []


CollectionGroups = Annotated[list[NameList], BeforeValidator(_groups)]


def _check_patterns(text: str, option: str) -> None:
    try:
        patterns(text)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


class CaptureOptions(capture.CaptureOptions):
    """What is captured."""

    capture_scope: Literal["deployment", "database", "collection"] = "deployment"
    """Whether one change stream is opened on everything, on a database or on a collection."""
    capture_target: str = ""
    """The database, or `database.collection`, of a narrower `capture.scope`."""
    capture_collection_groups: CollectionGroups = Field(default_factory=list)
    """cdckit's own, not Debezium's: groups of collections whose changes `runner: spark` reads at the same time, each
    by a change stream of its own; what is in no group is one more. A list of groups, or a text with `;` between them;
    a group is written as `collection.include.list` is, and a collection belongs to the first that names it.
    `runner: direct` reads all changes in one stream.
    """
    database_include_list: NameList = ""
    """Databases to capture: regular expressions that match a whole name, or names (`filters.match.mode`)."""
    database_exclude_list: NameList = ""
    """Databases to leave out; not together with `database.include.list`."""
    collection_include_list: NameList = ""
    """Collections to capture: regular expressions that match a whole `database.collection`, or names."""
    collection_exclude_list: NameList = ""
    """Collections to leave out; not together with `collection.include.list`."""
    filters_match_mode: Literal["regex", "literal"] = "regex"
    """Whether the four lists hold regular expressions or names."""
    field_exclude_list: NameList = ""
    """Fields to leave out: `database.collection.field.nested`; `*` in the first two parts stands for anything."""
    field_renames: NameList = ""
    """Fields to rename: `database.collection.field.nested:name`, the new name of the last part."""

    @field_validator("field_exclude_list")
    @classmethod
    def _exclusions(cls, text: str) -> str:
        parse_exclusions(text)
        return text

    @field_validator("field_renames")
    @classmethod
    def _renames(cls, text: str) -> str:
        parse_renames(text)
        return text

    @model_validator(mode="after")
    def _lists_of_patterns(self) -> Self:
        if self.filters_match_mode == "regex":
            for kind in ("database", "collection"):
                for way in ("include", "exclude"):
                    _check_patterns(getattr(self, f"{kind}_{way}_list"), f"{kind}.{way}.list")
            for group in self.capture_collection_groups:
                _check_patterns(group, "capture.collection.groups")
        return self

    @model_validator(mode="after")
    def _groups_of_collections(self) -> Self:
        if not self.capture_collection_groups:
            return self
        if not all(map(split_names, self.capture_collection_groups)):
            raise ValueError("capture.collection.groups: a group names no collection")
        if self.capture_scope == "collection":
            raise ValueError("capture.collection.groups: capture.scope=collection has one collection, and no groups")
        return self

    @model_validator(mode="after")
    def _target_of_the_scope(self) -> Self:
        parts = self.capture_target.split(".", 1)
        if self.capture_scope == "database" and not self.capture_target:
            raise ValueError("capture.scope=database needs capture.target, the database's name")
        if self.capture_scope == "collection" and (len(parts) < 2 or not all(parts)):
            raise ValueError("capture.scope=collection needs capture.target in the form database.collection")
        return self

    @property
    def groups(self) -> Sequence[int | None]:
        """The numbers of the groups of collections, that of the rest included; None alone where there are none."""
        groups = self.capture_collection_groups
        return range(len(groups) + 1) if groups else [None]
