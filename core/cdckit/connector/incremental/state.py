"""How far incremental and blocking snapshots have come: kept in the offset, so that they go on after a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

Key = Any
"""A place in the order of a table's or collection's key, as JSON."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A table or collection to read.

    Attributes:
        name: its full name.
        filter: which part of it, in the source's own language; "": all of it.
        surrogate_key: a column to go by instead of the key.
    """

    name: str
    filter: str = ""
    surrogate_key: str | None = None


@dataclass(frozen=True, slots=True)
class IncrementalState:
    """What is left to read.

    Attributes:
        wanted: the tables or collections, the one in hand first.
        after: the key behind which to go on in the first; None: from its beginning.
        last: the last key to read there; None: not yet known.
        columns: what these keys have the values of, as `Chunks.key_columns` tells it; none where that is not noted.
        rows: how many rows of the first have been read.
        paused: whether it waits for `resume-snapshot`.
        signal: the id of the last signal that asked for something.
        blocking: what is to be read while the log waits.
        total: how many rows have been given out since it began, which tells their positions apart.
    """

    wanted: tuple[Wanted, ...] = ()
    after: Key | None = None
    last: Key | None = None
    columns: tuple[str, ...] = ()
    rows: int = 0
    paused: bool = False
    signal: str = ""
    blocking: tuple[Wanted, ...] = ()
    total: int = 0

    @property
    def names(self) -> list[str]:
        """The names of what is left, the one in hand first."""
        return [one.name for one in self.wanted]

    def with_wanted(self, more: Sequence[Wanted]) -> Self:
        """More of them, behind those that there are; one that waits already need not wait twice."""
        waiting = self.wanted if self.last is None else self.wanted[1:]
        return replace(self, wanted=(*self.wanted, *(one for one in more if one not in waiting)))

    def with_blocking(self, more: Sequence[Wanted]) -> Self:
        """More of what the log waits for."""
        return replace(self, blocking=(*self.blocking, *(one for one in more if one not in self.blocking)))

    def without_first(self) -> Self:
        """The first one is done."""
        return replace(self, wanted=self.wanted[1:]).from_the_beginning()

    def with_chunks_of(self, later: Self) -> Self:
        """Behind the chunks of the first one that a later state is behind, which is done with if that has it no more.

        Nothing else of that state counts: what signals have asked for in between, they ask for again.
        """
        total = max(self.total, later.total)
        if not self.wanted:
            return self
        if self.wanted[0] not in later.wanted:
            return replace(self.without_first(), total=total)
        if self.wanted[0] != later.wanted[0] or later.after is None:
            return self  # it was begun anew, before which nothing was read that a saved offset does not know of
        return replace(self, after=later.after, last=later.last, columns=later.columns, rows=later.rows, total=total)

    def from_the_beginning(self) -> Self:
        """The first one is not begun."""
        return replace(self, after=None, last=None, columns=(), rows=0)

    def fits(self, columns: Sequence[str]) -> bool:
        """Whether its keys are of these columns; older versions have noted none, and only their number is known."""
        if not columns or self.last is None:
            return True
        return self.columns == tuple(columns) if self.columns else len(self.last) == len(columns)

    def to_json(self) -> dict[str, Any] | None:
        """As the offset keeps it; None when there is nothing to do."""
        if not self.wanted and not self.blocking:
            return None
        nothing = IncrementalState()
        kept = {name: value for name, value in asdict(self).items() if value != getattr(nothing, name)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}

    @classmethod
    def from_json(cls, kept: dict[str, Any] | None) -> Self:
        """Out of an offset."""
        members = kept or {}
        lists = {name: tuple(Wanted(**one) for one in members.get(name, ())) for name in ("wanted", "blocking")}
        return cls(**{**members, **lists, "columns": tuple(members.get("columns", ()))})
