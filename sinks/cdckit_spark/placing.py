"""How Spark makes Delta tables: by which columns their rows are clustered, and what properties they have."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cdckit.tables.target import Columns, literal, quoted
from cdckit_spark.names import sql_type

log = logging.getLogger("cdckit.spark")

MOST_CLUSTERING = 4
"""Delta clusters a table by so many columns at the most."""
_BOUNDED = re.compile(r"(?:tiny|small|big)?int|float|double|date|timestamp(?:_ntz)?|string|decimal\(\d+,\d+\)")
"""The types of which Delta keeps bounds for each file, without which it does not cluster."""


@dataclass(frozen=True, slots=True)
class Placing:
    """What the user wants.

    Attributes:
        cluster_by: the columns by which rows that are near each other are put into the same files.
        properties: of tables.
    """

    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def asks(self) -> bool:
        """Whether anything is wanted."""
        return bool(self.cluster_by or self.properties)

    def clustering(self, table: object, columns: Columns) -> list[str]:
        """The columns of a table that it is clustered by."""
        found = [name for name in self.cluster_by if _BOUNDED.fullmatch(columns.get(name, ""))]
        if left := [name for name in self.cluster_by if name not in found]:
            log.info("table %s: is not clustered by %s, which it lacks or has no bounds of", table, ", ".join(left))
        return found

    def lacking(self, table: object, found: Mapping[str, str]) -> dict[str, str]:
        """The properties that a table which is there lacks; those that it has stay as they are."""
        for name, text in self.properties.items():
            if found.get(name, text) != text:
                log.info("table %s: keeps %s = %s, and not %s", table, name, found[name], text)
        return {name: text for name, text in self.properties.items() if name not in found}


def creation(
    identifier: str,
    columns: Columns,
    comments: Mapping[str, str],
    clustering: list[str],
    properties: Mapping[str, str],
) -> str:
    """The statement that makes a table where there is none: by SQL, as the builder takes no name of a catalog.

    Args:
        identifier: the table's name, or its path.
        columns: its columns.
        comments: what columns are for, and under "" the table.
        clustering: the columns that it is clustered by.
        properties: of the table.
    """
    defined = ", ".join(_column(name, kind, comments.get(name)) for name, kind in columns.items())
    return " ".join([
        f"CREATE TABLE IF NOT EXISTS {identifier} ({defined}) USING delta",
        *([f"CLUSTER BY {_listed(clustering)}"] if clustering else []),
        *([f"COMMENT {literal(comments[''])}"] if "" in comments else []),
        f"TBLPROPERTIES ({', '.join(_pairs(properties))})",
    ])  # fmt: skip


def clustered_by(identifier: str, columns: list[str]) -> str:
    """The statement that has a table clustered by other columns, or by none."""
    return f"ALTER TABLE {identifier} CLUSTER BY {_listed(columns) if columns else 'NONE'}"


def with_properties(identifier: str, properties: Mapping[str, str]) -> str:
    """The statement that gives a table properties."""
    return f"ALTER TABLE {identifier} SET TBLPROPERTIES ({', '.join(_pairs(properties))})"


def _column(name: str, kind: str, comment: str | None) -> str:
    return f"{quoted(name)} {sql_type(kind)}" + ("" if comment is None else f" COMMENT {literal(comment)}")


def _listed(columns: list[str]) -> str:
    return f"({', '.join(map(quoted, columns))})"


def _pairs(properties: Mapping[str, str]) -> Iterator[str]:
    return (f"{literal(name)} = {literal(text)}" for name, text in properties.items())
