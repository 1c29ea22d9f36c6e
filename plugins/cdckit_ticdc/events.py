"""What decoders make of messages besides records."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit import Record
from cdckit_ticdc.definitions import Definition

_LATEST = 1 << 63


@dataclass(frozen=True, slots=True)
class Watermark:
    """All changes up to and with `commit_ts` have been sent to this partition.

    Raises:
        TypeError: that is no time.
    """

    commit_ts: int

    def __post_init__(self) -> None:
        require_time(self.commit_ts)


@dataclass(frozen=True, slots=True)
class Ddl:
    """A change of definitions.

    Attributes:
        commit_ts: when it came into force.
        statement: the SQL.
        tables: the tables concerned, as `database.table`.
        definitions: what they are afterwards, where the message tells.

    Raises:
        TypeError: what it is made of is no time or no text.
    """

    commit_ts: int
    statement: str
    tables: tuple[str, ...]
    definitions: tuple[Definition, ...] = ()

    def __post_init__(self) -> None:
        require_time(self.commit_ts)
        if not isinstance(self.statement, str):
            raise TypeError("the statement is no text")


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A table's definition, sent now and then for those who join late."""

    definition: Definition


Event = Record | Watermark | Ddl | Bootstrap


def table_names(database: str, table: str) -> tuple[str, ...]:
    """The table that a DDL message names, as `database.table`; none where it concerns the database alone."""
    return (f"{database}.{table}",) if table else ()


def require_time(value: object) -> None:
    """Makes sure that what a message has in the place of a time is one.

    Raises:
        TypeError: it is not.
    """
    if type(value) is not int or not 0 <= value < _LATEST:
        raise TypeError(f"commit_ts is no number of TiDB's clock, but {str(value)[:40]!r}")
