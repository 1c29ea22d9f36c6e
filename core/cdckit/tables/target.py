"""Where a topic's table lives, as far as following its source's definitions needs to know it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from cdckit.tables.destinations import collision

TOPIC = "topic"
"""The note that says which topic a table is for."""

Columns = dict[str, str]
"""A table's columns and their types, in order."""

NO_COMMENTS: Mapping[str, str] = MappingProxyType({})
"""Nothing is said of what a table and its columns are for."""

Step = list[Any]
"""What is done to a table that is altered, and to what, as JSON has it."""


class BatchId(NamedTuple):
    """A batch of a pipeline: written twice, it is there once.

    Attributes:
        application: what counts it.
        number: its number there.
        place: the offset that it ends at, as JSON; "" where it ends between two, or that is not known.
    """

    application: str
    number: int
    place: str = ""


class Target(ABC):
    """One table."""

    topic: str = ""
    """The topic that it is for."""

    changes_rows: ClassVar[bool] = False
    """Whether rows that are there can be changed."""

    folds_case: ClassVar[bool] = False
    """Whether no two columns may have names that differ in upper and lower case alone."""

    alters_at_once: ClassVar[bool] = False
    """Whether it is given all steps of an alteration together (`alter`), or each by a method of its own."""

    def identity(self) -> str | None:
        """What tells the table, which is there, from others that may take its place; None where nothing does."""
        return None

    def check_owner(self, notes: Mapping[str, str]) -> None:
        """Sees by a table's notes that it is this topic's; one that does not say was made by an older version.

        Raises:
            SinkError: it is another topic's.
        """
        owner = notes.get(TOPIC, self.topic)
        if owner != self.topic:
            raise collision(str(self), owner, self.topic)

    def check_made(self, notes: Mapping[str, str]) -> None:
        """Sees that a table that was made is this topic's and has its notes, though somebody else may have made it.

        Raises:
            SinkError: it is another topic's.
        """
        found = self.notes()
        self.check_owner(found)
        if lacking := {name: text for name, text in notes.items() if found.get(name) != text}:
            self.note(lacking)

    def claim(self) -> None:
        """Notes whose table it is."""
        self.note({TOPIC: self.topic})

    def widen(self, columns: Columns) -> None:
        """Gives columns a wider type."""
        raise NotImplementedError

    def drop_column(self, name: str) -> None:
        """Takes a column away."""
        raise NotImplementedError

    def rename_column(self, old: str, new: str) -> None:
        """Gives a column another name."""
        raise NotImplementedError

    def comment(self, column: str, text: str | None) -> None:
        """Says what a column is for, or the table ("")."""
        raise NotImplementedError

    def fill(self, name: str, text: str) -> bool:
        """Gives all rows a value in a column, by its text, where it can do so otherwise than by SQL; whether it did."""
        return False

    def update(self, values: Mapping[str, str], where: str | None = None) -> None:
        """Changes rows that are there, all of them or those for which a condition holds; all of it as SQL."""
        raise NotImplementedError

    def alter(self, steps: Sequence[Step]) -> None:
        """Takes all steps of an alteration, which its notes say is begun, and notes that it is done.

        Only of a table that is altered at once.
        """
        raise NotImplementedError

    @abstractmethod
    def columns(self) -> Columns:
        """The table's columns; none where there is no table yet."""

    @abstractmethod
    def create(self, columns: Columns, notes: Mapping[str, str], comments: Mapping[str, str] = NO_COMMENTS) -> None:
        """Makes the table, with notes about it, and what columns are for, and under "" the table."""

    @abstractmethod
    def add_columns(self, columns: Columns) -> None:
        """Adds columns at the end; earlier rows have null there."""

    @abstractmethod
    def notes(self) -> dict[str, str]:
        """What the sink has noted about the table; nothing where the format has no place for it."""

    @abstractmethod
    def note(self, notes: Mapping[str, str]) -> None:
        """Keeps notes with the table."""


def quoted(name: str) -> str:
    """A column's name as an identifier in Spark's SQL."""
    return f"`{name.replace('`', '``')}`"


def literal(text: str) -> str:
    """A text as a literal in Spark's SQL, which would put what `${…}` stands for in its place."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{") + "'"
