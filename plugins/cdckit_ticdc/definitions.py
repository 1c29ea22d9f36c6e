"""Definitions of tables that messages bring apart from rows, kept by when they came into force."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cdckit import HistoryEntry, StateError, StateStore
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit_ticdc.columns.types import MySqlType

HISTORY = "ticdc.tables"
"""The history's name in the state store."""


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column of a definition."""

    name: str
    type: MySqlType
    optional: bool


@dataclass(frozen=True, slots=True)
class Definition:
    """A table, from some time on.

    Attributes:
        database: its database.
        table: its name.
        since: the commit_ts, or the schema version, that it came into force with; 0: since ever.
        columns: in order.
        key: the names of the columns that identify a row.
        names: those of all columns.
    """

    database: str
    table: str
    since: int
    columns: tuple[ColumnDefinition, ...]
    key: tuple[str, ...]

    names: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset(column.name for column in self.columns))

    def __hash__(self) -> int:
        return hash((self.database, self.table, self.since))

    def to_json(self) -> dict[str, Any]:
        """The definition as the state keeps it."""
        return {name: value for name, value in asdict(self).items() if name != "names"}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Definition:
        """What `to_json` gave."""
        columns = tuple(
            ColumnDefinition(column["name"], _type_from_json(column["type"]), column["optional"])
            for column in kept["columns"]
        )
        return cls(kept["database"], kept["table"], kept["since"], columns, tuple(kept["key"]))


def _type_from_json(kept: Mapping[str, Any]) -> MySqlType:
    labels = kept["labels"]
    return MySqlType(**{**kept, "labels": None if labels is None else tuple(labels)})


class Definitions:
    """All definitions that were met.

    Args:
        state: where they are kept for the next run, or None.
    """

    def __init__(self, state: StateStore | None = None, known: Iterable[Definition] = ()) -> None:
        self._state = state
        self._tables: dict[tuple[str, str], list[Definition]] = {}
        for definition in known:
            self._add(definition)
        if state is not None:
            for entry in state.read_history(HISTORY):
                self._take(entry)

    def _take(self, entry: HistoryEntry) -> None:
        try:
            self._add(Definition.from_json(entry.entry))
        except DAMAGE as error:
            raise StateError(
                f"the definition that the state keeps at {entry.position} is damaged ({reason_of(error)}): "
                "restore the state folder from a copy"
            ) from error

    def learn(self, definition: Definition) -> None:
        """Adds a definition, durably; one that says nothing new is passed over."""
        if not self._add(definition) or self._state is None:
            return
        position = f"{definition.since:020d}-{definition.database}.{definition.table}"
        self._state.append_history(HISTORY, [HistoryEntry(position, definition.to_json())])

    def at(self, database: str, table: str, time: int) -> Definition | None:
        """The definition of a table in force at `time`; where all are later, the first of them."""
        found = self._tables.get((database, table))
        if found is None:
            return None
        return found[max(0, bisect_right(found, time, key=_since) - 1)]

    def version(self, database: str, table: str, version: int) -> Definition | None:
        """The definition of a table with just this schema version."""
        found = self._tables.get((database, table), ())
        return next((definition for definition in found if definition.since == version), None)

    def __iter__(self) -> Iterator[Definition]:
        for found in self._tables.values():
            yield from found

    def _add(self, definition: Definition) -> bool:
        found = self._tables.setdefault((definition.database, definition.table), [])
        same = next((at for at, old in enumerate(found) if old.since == definition.since), None)
        if same is not None:
            if found[same] == definition:
                return False
            found[same] = definition
        else:
            insort(found, definition, key=_since)
        return True


def _since(definition: Definition) -> int:
    return definition.since
