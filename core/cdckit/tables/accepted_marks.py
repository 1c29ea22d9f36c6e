"""Marks that a table has followed as the user has accepted it: where another table stops the batch, they come again.

The acceptance is used up by then, and is not asked for once more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from cdckit.tables.marks import Mark

_NOTE = "accepted_to"
"""The note of the positions up to which marks were accepted, by source table."""


class AcceptedMarks:
    """Those of one target."""

    def __init__(self) -> None:
        self._until: dict[str, str] = {}

    def load(self, notes: Mapping[str, str]) -> None:
        """Goes on with what is noted about the table."""
        self._until = json.loads(notes.get(_NOTE, "{}"))

    def among(self, marks: Sequence[Mark]) -> frozenset[str]:
        """The source tables all of whose marks come again."""
        return frozenset(table for table, last in _last(marks).items() if last <= self._until.get(table, ""))

    def used(self, tables: Iterable[str], marks: Sequence[Mark]) -> dict[str, str]:
        """The note that marks of these source tables were accepted; nothing where that is known."""
        last = _last(marks)
        further = {table: last[table] for table in tables if last.get(table, "") > self._until.get(table, "")}
        self._until |= further
        return self.notes() if further else {}

    def notes(self) -> dict[str, str]:
        """The note of all that were accepted; nothing where none was."""
        return {_NOTE: json.dumps(self._until)} if self._until else {}


def _last(marks: Sequence[Mark]) -> dict[str, str]:
    """The position of each source table's last mark."""
    return {mark.table: mark.position for mark in sorted(marks, key=lambda mark: mark.position)}
