"""Options of the sink `spark`."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, NonNegativeInt, PositiveInt, model_validator

from cdckit import FolderUrl, NameList, PluginConfig, split_names
from cdckit.tables.behavior import Behavior, EvolutionMode, kinds_of
from cdckit.tables.documents import DeclaredColumn, parse_columns

INFERRED = "inferred"
_FILE = re.compile(r"^file:/+")


def _checked_columns(text: str) -> str:
    if text != INFERRED:
        parse_columns(text)
    return text


def _checked_kinds(text: str) -> str:
    kinds_of(split_names(text))
    return text


ChangeKinds = Annotated[NameList, AfterValidator(_checked_kinds)]
DocumentColumns = Annotated[str, AfterValidator(_checked_columns)]


class LakeConfig(PluginConfig):
    """Options of the sink `spark`."""

    identifying: ClassVar[tuple[str, ...]] = ("format", "mode", "path", "database")

    format: Literal["delta", "parquet"] = "delta"
    """How tables are stored: `delta`, or `parquet` (files alone, for `mode: changelog` only)."""
    mode: Literal["changelog", "mirror"] = "changelog"
    """`changelog` appends every change as a row; `mirror` keeps one table for each source table, equal to it."""
    path: FolderUrl | None = None
    """The folder, or an object store's URL, under which each topic has a table, named as the topic, with
    `_` and a digest where it has other characters than letters, digits, `.`, `_` and `-`.
    """
    database: str | None = None
    """In the place of `path`: the database (or `CATALOG.DATABASE`) of the tables, named as the topics with `_` for
    each `.` and `-`; two topics of one name are refused.
    """
    unavailable_value_placeholder: str = "__debezium_unavailable_value"
    """What stands for a value that the log did not carry, as the source's option of this name says: the mirror then
    keeps the value it has.
    """
    document_columns: DocumentColumns = ""
    """For documents (MongoDB): columns to read out of them in the place of one that holds the document as JSON, as
    `FIELD TYPE, …`: `name string, address.city string, bought timestamp, price decimal(10,2), tags json`. A dot leads
    into a nested field and becomes `_` in the column's name. Types: string, json, boolean, int, bigint, double,
    decimal(p,s), timestamp, binary. `inferred` keeps the document and adds a column for each field that documents are
    found to have.
    """
    schema_evolution: EvolutionMode = "evolve"
    """What tables do when definitions at the source change: `evolve` follows, and stops where that is not possible;
    `try_evolve` follows where it is possible; `lenient` does, and loses nothing: columns and rows of tables that are
    dropped stay, a renamed column is a new one; `ignore` leaves the columns as they are; `exception` stops.
    """
    schema_evolution_include: ChangeKinds = ""
    """The kinds of changes that `schema.evolution` holds for, all by default; others leave the table as it is:
    `add.column`, `drop.column`, `rename.column`, `alter.column.type`, `alter.key`, `comment`, and of mirrors
    `create.table`, `drop.table`, `rename.table`, `truncate.table`.
    """
    schema_evolution_exclude: ChangeKinds = ""
    """Kinds of changes that leave the table as it is."""
    commit_interval_ms: NonNegativeInt = 0
    """How long, in milliseconds, changes are gathered for one commit; 0 commits as soon as the one before is done."""
    tables_parallel: PositiveInt = 4
    """How many tables are written at the same time."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.path is None) == (self.database is None):
            raise ValueError("give either 'path' or 'database'")
        if self.format == "parquet" and self.mode == "mirror":
            raise ValueError("'mode: mirror' needs 'format: delta': parquet files cannot be changed in place")
        if self.format == "parquet" and self.path is None:
            raise ValueError("'format: parquet' needs 'path'")
        if self.format == "parquet" and self.infers_columns:
            raise ValueError(
                "'document.columns: inferred' needs 'format: delta', which keeps the columns with the table"
            )
        return self

    def identity(self) -> dict[str, str | list[str]]:
        """A path is the same as its `file:` URL."""
        return super().identity() | ({} if self.place is None else {"path": self.place})

    @property
    def place(self) -> str | None:
        """`path` without `file:`, which a folder may have or not."""
        return None if self.path is None else _FILE.sub("/", self.path)

    @property
    def behavior(self) -> Behavior:
        """What is done about changes of definitions."""
        include, exclude = self.schema_evolution_include, self.schema_evolution_exclude
        return Behavior(self.schema_evolution, kinds_of(split_names(include)), kinds_of(split_names(exclude)))

    @property
    def declared_columns(self) -> tuple[DeclaredColumn, ...]:
        """The columns that are declared for documents."""
        return () if self.infers_columns else parse_columns(self.document_columns)

    @property
    def infers_columns(self) -> bool:
        """Whether columns are read off the documents."""
        return self.document_columns == INFERRED
