"""Follows a source's columns in a lake's table: new ones are added, anything else stops the pipeline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from cdckit.errors import SinkError
from cdckit.record import LANE_END, lane_of
from cdckit_spark.layout import Layout
from cdckit_spark.targets import Columns, Target

NOTE = "layouts"
"""The note with the last layout of each source table that goes into the target."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest layout of one source table that was met.

    Attributes:
        position: where it was met first.
        columns: the names of its columns.
        key: the names of its key's columns.
    """

    position: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


class Evolution:
    """The columns of one target."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.columns: Columns = {}
        self._seen: dict[str, Seen] = {}
        self._known: set[tuple[tuple[str, str], ...]] = set()
        self._loaded = False

    def follow(self, layouts: Sequence[tuple[str, Layout]]) -> None:
        """Makes the target take rows of these layouts, each with the position of its first row.

        Raises:
            SinkError: a column's type changed, or a column or the key went away.
        """
        if all(self._is_newest(position, layout) for position, layout in layouts):
            return
        self._load()
        before, noted = dict(self.columns), dict(self._seen)
        for position, layout in sorted(layouts, key=lambda pair: pair[0]):
            self._check(position, layout)
        added = {name: kind for name, kind in self.columns.items() if name not in before}
        if not before:
            self.target.create(self.columns)
        elif added:
            self.target.add_columns(added)
        if self._seen != noted:
            self.target.note({NOTE: json.dumps({s: [n.position, n.columns, n.key] for s, n in self._seen.items()})})
        self._known |= {layout.columns for _, layout in layouts}

    def _is_newest(self, position: str, layout: Layout) -> bool:
        """Whether the columns are known, and those of the source table's newest layout."""
        if layout.columns not in self._known:
            return False
        seen = self._seen.get(_source(position, layout))
        names = tuple(name for name, _ in layout.columns)
        return layout.kind != "rows" or (seen is not None and (seen.columns, seen.key) == (names, layout.key))

    def _load(self) -> None:
        self.columns = self.target.columns()
        if self._loaded or not self.columns:
            return
        self._loaded = True
        for source, (position, columns, key) in json.loads(self.target.notes().get(NOTE, "{}")).items():
            self._seen[source] = Seen(position, tuple(columns), tuple(key))

    def _check(self, position: str, layout: Layout) -> None:
        for name, kind in layout.columns:
            present = self.columns.setdefault(name, kind)
            if present != kind:
                raise self._refusal(
                    layout, position, f"column '{name}' became {kind}, and the table has it as {present}"
                )
        if layout.kind != "rows":
            return
        names = tuple(name for name, _ in layout.columns)
        source = _source(position, layout)
        seen = self._seen.get(source)
        if seen is not None and position <= seen.position:
            return
        if seen is not None:
            gone = [name for name in seen.columns if name not in names]
            if gone:
                raise self._refusal(layout, position, f"column '{gone[0]}' is gone")
            if seen.key != layout.key:
                raise self._refusal(
                    layout, position, f"the key was ({', '.join(seen.key)}) and is ({', '.join(layout.key)})"
                )
        if seen is None or seen.columns != names:
            self._seen[source] = Seen(position, names, layout.key)

    def _refusal(self, layout: Layout, position: str, what: str) -> SinkError:
        return SinkError(
            f"table {self.target}: since position {position} {what} (source {layout.source}). Only added columns are "
            "followed: change or move the table by hand, or let the pipeline write to another place"
        )


def _source(position: str, layout: Layout) -> str:
    """Whose history of columns counts: the source table's, for each lane its own, since lanes cannot be compared."""
    lane = lane_of(position)
    return f"{lane}{LANE_END}{layout.source}" if lane else layout.source
