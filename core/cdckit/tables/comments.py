"""What source tables say they and their columns are for: told to a table in the moment in which it is made."""

from __future__ import annotations

from collections.abc import Iterable

from cdckit.tables.definitions import Definitions
from cdckit.tables.layout import Comments, Layout, history_of


class ToldComments:
    """What was told of the source tables of one target, each by its newest definition.

    A source table may be there long before its first row, with which its table is made: so what marks tell is kept.
    """

    def __init__(self) -> None:
        self._told: dict[str, Comments] = {}

    def take(self, layouts: Iterable[tuple[str, Layout]]) -> None:
        """Takes what layouts tell, each at its position."""
        for position, layout in sorted(layouts, key=_position):
            if layout.comments is not None:
                self._told[history_of(position, layout)] = layout.comments

    def of(self, definitions: Definitions, columns: Iterable[str]) -> dict[str, str]:
        """The comments of a table with these columns, and under "" its own.

        Where source tables share it, each is that of the one that was told of first, of those that have one.
        """
        present, found = {"", *columns}, dict[str, str]()
        for history, comments in self._told.items():
            newest = definitions.newest(history)
            for name, text in comments:
                place = newest.place(name) if newest is not None and name else name
                if place is not None and place in present:
                    found.setdefault(place, text)
        return found


def _position(told: tuple[str, Layout]) -> str:
    return told[0]
