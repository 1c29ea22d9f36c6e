"""Which definitions a stretch of the log names: those of its rows, and those that its statements look at.

A reader of the stretch needs no others, however many tables are captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from cdckit_mysql.binlog.place import HEADER_SIZE
from cdckit_mysql.binlog.query import Query
from cdckit_mysql.ddl import SchemaChange
from cdckit_mysql.offsets import LogOffset, LogPosition
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.table import Database, Table, TableId, Tables

_NAMES_AT = HEADER_SIZE + 8
"""Where a TABLE_MAP event has the name of the database, behind the table's number and flags."""


@dataclass(slots=True)
class NamedDefinitions:
    """The names that one stretch of the log has.

    Attributes:
        announced: the tables of its rows, each in the bytes that TABLE_MAP has.
        tables: those that its statements look at.
        databases: the databases that they look at.
        emptied: the databases of which they look at all tables.
        everything: whether any table may be meant.
    """

    announced: set[bytes] = field(default_factory=set)
    tables: set[TableId] = field(default_factory=set)
    databases: set[str] = field(default_factory=set)
    emptied: set[str] = field(default_factory=set)
    everything: bool = False

    def announce(self, event: bytes, at: int) -> None:
        """Takes the table that the TABLE_MAP event at `at` names."""
        # Database and name stand behind their lengths, and before a zero byte each: nothing else of the event is read,
        # and most events name what the one before has named.
        first = at + _NAMES_AT
        second = first + event[first] + 2
        self.announced.add(event[first : second + event[second] + 2])

    def add(self, other: Self) -> None:
        """Takes the names of a stretch that follows."""
        self.announced |= other.announced
        self.tables |= other.tables
        self.databases |= other.databases
        self.emptied |= other.emptied
        self.everything |= other.everything

    def of(self, tables: Tables, captures: Callable[[str, str], bool]) -> Tables:
        """The definitions, of those in force where the stretch begins, that its reader needs.

        Args:
            tables: all definitions there.
            captures: whether a table's rows are read; of the tables in statements all are kept.
        """
        chosen = Tables(lower_case_table_names=tables.lower_case_table_names)
        for name in self._rows_of(tables) if self.everything else map(_names, self.announced):
            if captures(*name) and (table := tables.get(*name)) is not None:
                chosen.put(table)
        for database in self.databases | self.emptied:
            if (known := tables.database(database)) is not None:
                chosen.put_database(known)
        for table in self._in_statements(tables):
            chosen.put(table)
        return chosen

    def _in_statements(self, tables: Tables) -> Iterator[Table]:
        yield from (table for name in self.tables if (table := tables.get(*name)) is not None)
        for database in self.emptied:
            yield from tables.in_database(database)

    @staticmethod
    def _rows_of(tables: Tables) -> Iterator[TableId]:
        return (table.id for table in tables)


def _names(announced: bytes) -> TableId:
    """The names out of a TABLE_MAP's bytes."""
    second = 2 + announced[0]
    database, name = announced[1 : second - 1], announced[second + 1 : -1]
    return TableId(database.decode("utf-8", "replace"), name.decode("utf-8", "replace"))


class LookedAtTables(Tables):
    """Definitions that note what is looked at, while that is wanted."""

    __slots__ = ("_noted",)

    def __init__(self, *, lower_case_table_names: int = 0) -> None:
        super().__init__(lower_case_table_names=lower_case_table_names)
        self._noted: NamedDefinitions | None = None

    @classmethod
    def of(cls, tables: Tables) -> LookedAtTables:
        """The same definitions, untouched by later changes of either."""
        watched = cls(lower_case_table_names=tables.lower_case_table_names)
        watched.share(tables)
        return watched

    @contextmanager
    def noting(self, names: NamedDefinitions) -> Iterator[None]:
        """Within this context what is looked at is noted there."""
        self._noted = names
        try:
            yield
        finally:
            self._noted = None

    def _note(self, database: str, name: str) -> None:
        if self._noted is not None:
            self._noted.tables.add(TableId(database, name))

    def get(self, database: str, name: str) -> Table | None:
        """See `Tables`."""
        self._note(database, name)
        return super().get(database, name)

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        self._note(*table_id)
        return super().__getitem__(table_id)

    def __contains__(self, table_id: tuple[str, str]) -> bool:
        self._note(*table_id)
        return super().__contains__(table_id)

    def __iter__(self) -> Iterator[Table]:
        if self._noted is not None:
            self._noted.everything = True
        return super().__iter__()

    def put(self, table: Table) -> None:
        """See `Tables`."""
        self._note(*table.id)
        super().put(table)

    def remove(self, database: str, name: str) -> Table | None:
        """See `Tables`."""
        self._note(database, name)
        return super().remove(database, name)

    def in_database(self, database: str) -> list[Table]:
        """See `Tables`."""
        if self._noted is not None:
            self._noted.emptied.add(database)
        return super().in_database(database)

    def database(self, name: str) -> Database | None:
        """See `Tables`."""
        if self._noted is not None:
            self._noted.databases.add(name)
        return super().database(name)

    def put_database(self, database: Database) -> None:
        """See `Tables`."""
        if self._noted is not None:
            self._noted.databases.add(database.name)
        super().put_database(database)

    def remove_database(self, name: str) -> list[Table]:
        """See `Tables`."""
        if self._noted is not None:
            self._noted.databases.add(name)
        return super().remove_database(name)


class LookedAtDefinitions(Definitions):
    """Definitions that follow the log's statements ahead of its readers.

    What statements look at is noted, and what they change is held back until the range that they stand in is planned.

    Attributes:
        names: where what they look at is noted.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.names: NamedDefinitions | None = None
        self._held: list[Callable[[], None]] = []

    def take_held(self) -> list[Callable[[], None]]:
        """What notes the changes since the last call, durably, and tells of them, in their order."""
        held, self._held = self._held, []
        return held

    def _read(self, event: Query, position: LogPosition) -> list[SchemaChange]:
        # Only what the statement itself looks at is of use to whoever reads it again: checks of the whole go over all.
        if self.names is None or not isinstance(self.tables, LookedAtTables):
            return super()._read(event, position)
        with self.tables.noting(self.names):
            return super()._read(event, position)

    def _note(
        self,
        changes: Sequence[SchemaChange],
        position: LogPosition,
        tables: Tables,
        behind: Callable[[], LogOffset] | None,
    ) -> None:
        at = None if behind is None else behind()
        known = None if at is None else lambda: at
        self._held.append(partial(super()._note, changes, position, tables.copy(), known))
