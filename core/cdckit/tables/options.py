"""Options that sinks of tables share."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator

from cdckit.api.lists import NameList, split_names
from cdckit.api.plugin_config import PluginConfig
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


def plain_path(path: str) -> str:
    """A path without `file:`, which a folder may have or not."""
    return _FILE.sub("/", path)


class TableOptions(PluginConfig):
    """What tables hold, and how they follow their sources."""

    mode: Literal["changelog", "mirror", "history"] = "changelog"
    """`changelog` appends every change as a row; `mirror` keeps one table for each source table, equal to it;
    `history` keeps every version of each row, with when it came and when it went.
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
    `add.column`, `drop.column`, `rename.column`, `alter.column.type`, `alter.key`, `comment`,
    `create.table`, `drop.table`, `rename.table`, `truncate.table`.
    """
    schema_evolution_exclude: ChangeKinds = ""
    """Kinds of changes that leave the table as it is."""

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
