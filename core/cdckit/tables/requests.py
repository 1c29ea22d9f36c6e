"""What the user has asked for of single source tables, once each: a table notes which requests it has made use of."""

from __future__ import annotations

import json
from collections.abc import Mapping

from cdckit.tables.target import Target


class Requests:
    """Those of one kind, for one target.

    Args:
        target: the table.
        note: the note of the requests that were made use of, by source table.
    """

    def __init__(self, target: Target, note: str) -> None:
        self._target = target
        self._note = note
        self._used: dict[str, str] = {}

    def load(self, notes: Mapping[str, str]) -> None:
        """Goes on with what is noted about the table."""
        self._used = json.loads(notes.get(self._note, "{}"))

    def pending(self, asked: Mapping[str, str]) -> dict[str, str]:
        """Those that were not made use of.

        Args:
            asked: the source tables, each with a text that tells one request from the next.
        """
        return {table: one for table, one in asked.items() if self._used.get(table) != one}

    def used(self, asked: Mapping[str, str]) -> dict[str, str]:
        """The note that these were made use of; nothing where that is known."""
        if not self.pending(asked):
            return {}
        self._used |= asked
        return {self._note: json.dumps(self._used)}

    def notes(self) -> dict[str, str]:
        """The note of all that were made use of; nothing where none was."""
        return {self._note: json.dumps(self._used)} if self._used else {}

    def use(self, asked: Mapping[str, str]) -> None:
        """Notes with the table that these were made use of."""
        if notes := self.used(asked):
            self._target.note(notes)
