"""The definitions that source tables have had, position by position, and where their columns are in the target now.

Rows of before a change come after it, too: in the same batch, or in one that is written again. So each definition knows
the place of each of its columns in the target as it is, and a target's change changes the places of all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cdckit.tables.layout import Layout, history_of

NOTE = "definitions"
"""The note that keeps them with the table."""

_MOST = 50
"""So many definitions of one source table are kept; rows come again from one batch, seldom from further back."""

Places = Mapping[str, str | None]
"""Columns whose place has another name than they, or which have none (None)."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a source table was from a position on.

    Attributes:
        position: where it was met first.
        columns: the names of its columns.
        key: the names of its key's columns.
        places: those of its columns that are not under their own name in the target.
    """

    position: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    places: Places = field(default_factory=dict)

    def place(self, column: str) -> str | None:
        """Where a column's values are in the target; None where it has no room for them."""
        return self.places.get(column, column)


class Definitions:
    """Those of all source tables of one target, by history (`history_of`)."""

    def __init__(self, histories: Mapping[str, Sequence[Definition]] | None = None) -> None:
        self._histories = {name: list(found) for name, found in (histories or {}).items()}

    def copy(self) -> Definitions:
        """The same, to be changed."""
        return Definitions(self._histories)

    @property
    def histories(self) -> Mapping[str, Sequence[Definition]]:
        """All of them, in order."""
        return self._histories

    def newest(self, history: str) -> Definition | None:
        """The last one of a source table."""
        found = self._histories.get(history)
        return found[-1] if found else None

    def put(self, history: str, definition: Definition) -> None:
        """Adds the one that holds from its position on."""
        found = self._histories.setdefault(history, [])
        found.append(definition)
        del found[:-_MOST]

    def restart(self, history: str, definition: Definition) -> None:
        """Forgets all others, of every source table."""
        self._histories = {history: [definition]}

    def move(self, old: str, new: str | None) -> None:
        """The target's column `old` is called `new` now, or is gone."""
        for history, found in self._histories.items():
            self._histories[history] = [_moved(one, old, new) for one in found]

    def uses(self, place: str, but: str) -> bool:
        """Whether the newest definition of a source table other than `but` has a column at a place."""
        newest = (found[-1] for history, found in self._histories.items() if history != but and found)
        return any(one.place(column) == place for one in newest for column in one.columns)

    def dumps(self) -> str:
        """The text of the note."""
        return json.dumps(
            {h: [[one.position, one.columns, one.key, one.places] for one in found] for h, found in self._items()}
        )

    @classmethod
    def loads(cls, text: str) -> Definitions:
        """Reads what `dumps` gave."""
        kept: dict[str, list[Any]] = json.loads(text)
        return cls({h: [Definition(p, tuple(c), tuple(k), places) for p, c, k, places in kept[h]] for h in kept})

    def _items(self) -> Iterator[tuple[str, Sequence[Definition]]]:
        yield from self._histories.items()


def _moved(definition: Definition, old: str, new: str | None) -> Definition:
    names = [column for column in definition.columns if definition.place(column) == old]
    if not names:
        return definition
    places = {**definition.places, **dict.fromkeys(names, new)}
    return replace(definition, places={name: place for name, place in places.items() if name != place})


@dataclass(frozen=True, slots=True)
class Fitting:
    """Puts rows of older definitions into the target as it is.

    Attributes:
        places: for each history the positions from where on columns have other places than their names, and which.
        older: by column and history the position from where on rows have the column themselves, and the value as text
            of those from before.
        tolerant: columns of the target in which a value that is none of its type becomes null.
    """

    places: Mapping[str, Sequence[tuple[str, Places]]] = field(default_factory=dict)
    older: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    tolerant: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        definitions: Definitions,
        older: Mapping[str, Mapping[str, Sequence[str]]],
        tolerant: frozenset[str],
    ) -> Fitting:
        """That of a target's definitions; histories all of whose columns have their own names need nothing."""
        moved = {
            history: [(one.position, one.places) for one in found]
            for history, found in definitions.histories.items()
            if any(one.places for one in found)
        }
        return cls(moved, older, tolerant)

    def moved(self, position: str, layout: Layout) -> Places:
        """The columns of a layout whose places have other names."""
        if not self.places:
            return {}
        known = self.places.get(history_of(position, layout), ())
        found: Places = known[0][1] if known else {}
        for begin, places in known:
            if begin <= position:
                found = places
        return found

    def missing(self, position: str, layout: Layout) -> dict[str, str]:
        """The columns that rows of a layout lack, as text; those which their table has no more are not among them.

        A table that shares the target with others has their value until it has the column itself.
        """
        if not self.older:
            return {}
        moved = self.moved(position, layout)
        present = {moved.get(name, name) for name, _ in layout.columns}
        history = history_of(position, layout)
        found = {}
        for name, added in self.older.items():
            begun, text = added.get(history) or next(iter(added.values()))
            if name not in present and (history not in added or position < begun):
                found[name] = text
        return found

    def shown(self, position: str, layout: Layout) -> Layout:
        """A layout by the names that its columns have in the target."""
        moved = self.moved(position, layout)
        if not moved:
            return layout

        def there(names: Sequence[str]) -> tuple[str, ...]:
            return tuple(place for name in names if (place := moved.get(name, name)) is not None)

        kinds = {moved.get(name, name): kind for name, kind in layout.columns}
        return replace(
            layout,
            columns=tuple((name, kind) for name, kind in kinds.items() if name is not None),
            key=there(layout.key),
            unavailable=there(layout.unavailable),
        )
