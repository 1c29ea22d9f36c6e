"""What decoders make of messages besides records."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit.record import Record
from cdckit_ticdc.definitions import Definition


@dataclass(frozen=True, slots=True)
class Watermark:
    """All changes up to and with `commit_ts` have been sent to this partition."""

    commit_ts: int


@dataclass(frozen=True, slots=True)
class Ddl:
    """A change of definitions.

    Attributes:
        commit_ts: when it came into force.
        statement: the SQL.
        tables: the tables concerned, as `database.table`.
        definitions: what they are afterwards, where the message tells.
    """

    commit_ts: int
    statement: str
    tables: tuple[str, ...]
    definitions: tuple[Definition, ...] = ()


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A table's definition, sent now and then for those who join late."""

    definition: Definition


Event = Record | Watermark | Ddl | Bootstrap


def table_names(database: str, table: str) -> tuple[str, ...]:
    """The table that a DDL message names, as `database.table`; none where it concerns the database alone."""
    return (f"{database}.{table}",) if table else ()
