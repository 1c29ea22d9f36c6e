"""How far an incremental snapshot has come: kept in the offset, so that it goes on after a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Wanted:
    """A collection to read.

    Attributes:
        collection: its name, `database.name`.
        filter: a query document as Extended JSON; "" for all of it.
    """

    collection: str
    filter: str = ""


@dataclass(frozen=True, slots=True)
class IncrementalState:
    """What is left to read.

    Attributes:
        wanted: the collections, the one in hand first.
        after: the `_id` behind which to go on in the first, as BSON in hexadecimal; None: from its beginning.
        last: the last `_id` to read there; None: not yet known.
        paused: whether it waits for `resume-snapshot`.
    """

    wanted: tuple[Wanted, ...] = ()
    after: str | None = None
    last: str | None = None
    paused: bool = False

    def with_wanted(self, more: Sequence[Wanted]) -> Self:
        """More collections, behind those that there are; one that waits already need not wait twice."""
        waiting = self.wanted if self.last is None else self.wanted[1:]
        return replace(self, wanted=(*self.wanted, *(one for one in more if one not in waiting)))

    def without_first(self) -> Self:
        """The first collection is done."""
        return replace(self, wanted=self.wanted[1:], after=None, last=None)

    def to_json(self) -> list[Any] | None:
        """As the offset keeps it; None when there is nothing to do."""
        if not self.wanted:
            return None
        return [[[one.collection, one.filter] for one in self.wanted], self.after, self.last, self.paused]

    @classmethod
    def from_json(cls, kept: list[Any] | None) -> Self:
        """Out of an offset."""
        if not kept:
            return cls()
        wanted, after, last, paused = kept
        return cls(tuple(Wanted(*one) for one in wanted), after, last, paused)


@dataclass(slots=True)
class Window:
    """A chunk between its two marks in the stream.

    Attributes:
        id: what the marks' identifiers begin with.
        collection: whose chunk it is.
        documents: what was read, by the text of the key.
        after: the chunk's last `_id`, as BSON in hexadecimal; None for an empty chunk.
        is_open: whether the first mark has been seen.
    """

    id: str
    collection: str
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    after: str | None = None
    is_open: bool = False
