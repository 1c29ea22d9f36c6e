"""What is asked of a database: its tables, their rows, and its log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

from cdckit.api.schema import Schema
from cdckit.connector.table_events import Row
from cdckit.errors import RetriableSourceError


@dataclass(frozen=True)
class Table:
    """A table of the log, as it is defined now.

    Attributes:
        database: the first part of its name.
        name: the second one.
        columns: the schemas of its columns, in the order of a row's values.
        key: the columns of its primary key, in order; none where it has none.
    """

    database: str
    name: str
    columns: Mapping[str, Schema]
    key: tuple[str, ...]

    @property
    def id(self) -> str:
        """Its whole name."""
        return f"{self.database}.{self.name}"

    @cached_property
    def _places(self) -> tuple[int, ...]:
        names = list(self.columns)
        return tuple(names.index(name) for name in self.key)

    def key_of(self, row: Row) -> Row:
        """The values of a row's key."""
        return tuple(row[place] for place in self._places)


class Change(NamedTuple):
    """A row of the log.

    Attributes:
        number: its place, greater than those of all that were committed before.
        table: the whole name of the table.
        operation: `c`, `u` or `d`.
        before: the row before; None where it was created.
        after: the row now; None where it was deleted.
        time_ms: when it was changed, in milliseconds since 1970.
    """

    number: int
    table: str
    operation: str
    before: Row | None
    after: Row | None
    time_ms: int


class Cursor(Protocol):
    """What is used of a cursor as Python's drivers have it (PEP 249)."""

    def execute(self, statement: str, values: Sequence[Any], /) -> object:
        """Runs a statement."""

    def fetchmany(self, size: int, /) -> list[Any]:
        """The next rows; none behind the last one."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""


class Connection(Protocol):
    """What is used of a connection."""

    def cursor(self) -> Cursor:
        """A new cursor."""

    def close(self) -> None:
        """Lets it go."""


class Database(ABC):
    """One database. It is connected to when it is first asked, and again once a connection was lost.

    Its methods raise what `errors` gives: `RetriableSourceError` for what passes, such as a server that is away, and
    `SourceError` where it refuses; both say what to do.
    """

    placeholder: ClassVar[str] = "?"
    """What stands for a value in its statements."""
    begin: ClassVar[str] = "BEGIN"
    """Begins a transaction whose statements all see the same rows and the same end of the log; COMMIT ends it."""

    def __init__(self) -> None:
        self._connection: Connection | None = None

    @abstractmethod
    def connect(self) -> Connection:
        """A new connection; outside of transactions, what a statement writes is committed."""

    @abstractmethod
    def errors(self) -> AbstractContextManager[object]:
        """Gives errors of the driver as errors of the source."""

    @abstractmethod
    def tables(self) -> Mapping[str, Table]:
        """All tables that the log is to tell of, by their whole names: the captured ones and that of signals.

        What the log needs is made here, such as triggers, before the first row is read.
        """

    @abstractmethod
    def log_bounds(self) -> tuple[int, int]:
        """The number in the log behind which every row is still there, and that of the newest one."""

    @abstractmethod
    def changes(self, after: int, last: int, tables: Mapping[str, Table], most: int) -> Sequence[Change]:
        """The first `most` rows of the log behind `after`, up to `last`, that are of these tables.

        Raises:
            DecodeError: one cannot be read; the message names the table and the number.
        """

    def quoted(self, *names: str) -> str:
        """A name of several parts, as standard SQL quotes them."""
        return ".".join('"' + name.replace('"', '""') + '"' for name in names)

    def limit(self, most: int, behind: int = 0) -> str:
        """What ends a statement that gives `most` rows, or fewer, behind the first `behind`."""
        return f"LIMIT {most} OFFSET {behind}"

    # -- what the kit and a source ask by

    def query(self, statement: str, *values: object) -> list[Row]:
        """All rows of a statement."""
        cursor = self._executed(statement, *values)
        with self._asking():
            return cursor.fetchall()

    def write(self, statement: str, *values: object) -> None:
        """Runs a statement that gives no rows."""
        self._executed(statement, *values)

    def select(self, table: Table, rest: str = "", *values: object) -> list[Row]:
        """Rows of a table as they are now.

        Args:
            table: the table.
            rest: what follows its name in the statement.
            values: for the placeholders in it.
        """
        return self.query(f"{self._rows_of(table)} {rest}", *values)

    def portions(self, table: Table, most: int, rest: str = "", *values: object) -> Iterator[list[Row]]:
        """The same, at the most so many rows at a time."""
        cursor = self._executed(f"{self._rows_of(table)} {rest}", *values)
        while True:
            with self._asking():
                rows = cursor.fetchmany(most)
            if not rows:
                return
            yield rows

    @contextmanager
    def consistent(self) -> Iterator[None]:
        """Within it all statements see the same rows, and the same end of the log."""
        self.write(self.begin)
        connection = self._connection
        try:
            yield
        finally:
            if self._connection is connection:
                self.write("COMMIT")

    def close(self) -> None:
        """Lets the connection go. May be called twice."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _rows_of(self, table: Table) -> str:
        columns = ", ".join(map(self.quoted, table.columns))
        return f"SELECT {columns} FROM {self.quoted(table.database, table.name)}"  # noqa: S608 - quoted names

    def _executed(self, statement: str, *values: object) -> Cursor:
        with self._asking():
            if self._connection is None:
                self._connection = self.connect()
            cursor = self._connection.cursor()
            cursor.execute(statement, values)
            return cursor

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            with self.errors():
                yield
        except RetriableSourceError:
            self.close()
            raise
