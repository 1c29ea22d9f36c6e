"""Table marks of collections: that a snapshot of one begins and ends, and that one was dropped or renamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cdckit import MarkKind, TableExample, TableMark
from cdckit_mongodb.events.collection_events import Collections
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.offsets import Moment, moment_text
from cdckit_mongodb.splits import ChunkWork, Name

MARKED = ("drop", "rename")
"""Events that tell of a whole collection. A database that is dropped drops its collections first."""


class CollectionMarker:
    """Makes the marks of one source.

    Args:
        collections: what makes records.
        captured: gives the captured collections that there are.
    """

    def __init__(self, collections: Collections, captured: Callable[[], Iterable[Name]]) -> None:
        self._collections = collections
        self._captured = captured
        self._examples: dict[Name, TableExample] = {}

    def of_snapshot(self, work: ChunkWork, moment: Moment) -> Iterator[TableMark]:
        """That a snapshot begins, and that it ends, for each collection of which the first or last documents are read.

        Args:
            work: what is read.
            moment: what the snapshot counts from.
        """
        behind, others, made = f"{moment_text(moment)}-1-", self._others, moment[0] * 1000
        shared = None if work.begins else False
        for name in work.begun:
            yield TableMark(
                MarkKind.SNAPSHOT_BEGIN, behind, self._example(name), others, of_shared=shared, made_ms=made
            )
        for name in work.ahead:
            yield TableMark(MarkKind.SNAPSHOT_BEGIN, behind, self._example(name), others, of_shared=True, made_ms=made)
        for name in work.ended:
            yield TableMark(MarkKind.SNAPSHOT_END, f"{behind}~", self._example(name), others, made_ms=made)

    def of_event(self, event: dict[str, Any], filters: Filters, position: str) -> Iterator[TableMark]:
        """What an event of a kind in `MARKED` means for the captured collections."""
        kind = event["operationType"]
        old = _name(event["ns"])
        statement, made = f"{kind} {'.'.join(old)}", event["clusterTime"].time * 1000
        if filters.captures(*old):
            example = self._example(old)
            yield TableMark(MarkKind.DROP, position, example, self._others, statement=statement, made_ms=made)
        if kind == "rename" and filters.captures(*(new := _name(event["to"]))):
            statement = f"{statement} to {'.'.join(new)}"
            yield TableMark(
                MarkKind.RENAME,
                position,
                self._example(new),
                self._others,
                previous=".".join(old),
                statement=statement,
                made_ms=made,
            )

    def example(self, collection: str) -> TableExample:
        """Records of a collection, which is named with its database."""
        database, _, name = collection.partition(".")
        return self._example((database, name))

    def _others(self) -> Iterator[TableExample]:
        return (self._example(name) for name in self._captured())

    def _example(self, name: Name) -> TableExample:
        if name not in self._examples:
            one, two = self._collections.of(*name).reads([{"_id": 1}, {"_id": 2}], (0, 0), 0)
            self._examples[name] = TableExample(".".join(name), (one, two))
        return self._examples[name]


def _name(namespace: dict[str, Any]) -> Name:
    return namespace["db"], namespace["coll"]
