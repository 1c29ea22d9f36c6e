"""A snapshot that several connections read at the same time: collections, and ranges of `_id` of large ones."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bson import Timestamp

from cdckit import Notices
from cdckit.connector.parallel_reading import ParallelReading
from cdckit.connector.snapshot_progress import SnapshotProgress
from cdckit.waiting import ended_by_stop
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.offsets import DONE, Moment, SnapshotPlace
from cdckit_mongodb.server.connection import Client, driver_errors
from cdckit_mongodb.snapshot.chunks import divided, part_size
from cdckit_mongodb.snapshot.collections import (
    IN_ORDER_FROM,
    ChosenCollection,
    Document,
    FoundDocuments,
    documents,
    identifier_text,
)
from cdckit_mongodb.splits import Chunk

_NUMBERS = 10**9
"""A snapshot that goes on numbers its documents from the next multiple of this: it repeats no position."""

_ROOM = 1
"""So many batches wait for the sink, of up to 16 MiB each; every connection has one more in hand."""


class Part(NamedTuple):
    """A part of a collection that is to be read.

    Attributes:
        collection: which one.
        low: the first `_id`, as BSON in hexadecimal; None: from the beginning.
        high: the `_id` before which to end; None: to the end.
        in_order: whether the documents come in the order of `_id`.
        begins: whether it is its collection's first part …
        read_before: … from a document on that has been read before.
    """

    collection: ChosenCollection
    low: str | None
    high: str | None
    in_order: bool
    begins: bool
    read_before: bool


class _Read(NamedTuple):
    """Some documents of the part with that number; None where it has no more."""

    number: int
    documents: list[Document] | None


class ParallelSnapshot:
    """Plans the parts and reads them.

    Args:
        client: where to; it gives each thread a connection of its own.
        config: the source's options.
        left: the collections to read, in order.
        place: how far the snapshot has come in the first of them, or None.
        moment: what the snapshot counts from.
        notices: told how far each collection is.
    """

    def __init__(
        self,
        client: Client,
        config: MongoDbConfig,
        left: Sequence[ChosenCollection],
        place: SnapshotPlace | None,
        moment: Moment,
        notices: Notices,
    ) -> None:
        self._client = client
        self._config = config
        self._moment = moment
        self._row = place.rows if place is not None else 0
        begun = place is not None and bool(left) and left[0].full_name == place.collection
        self._start = place if place is not None and begun else None
        with ended_by_stop():
            self._parts = list(self._plan(left))
        self._reached = Reached(self._parts, self._start)
        self._progress = {one.full_name: SnapshotProgress(notices, one.full_name, one.estimate) for one in left}
        self._open = Counter(part.collection.full_name for part in self._parts)

    def found(self) -> Iterator[FoundDocuments]:
        """The documents as they come; those of one part in order.

        Raises:
            RetriableSourceError: a connection was lost.
            SourceError: the server refuses.
        """
        threads = min(self._config.snapshot_max_threads, len(self._parts))
        if not threads:
            return
        next_start = (self._row // _NUMBERS + 1) * _NUMBERS
        reading = ParallelReading([self._read] * threads, iter(range(len(self._parts))), _ROOM)
        for number, batch in reading.parts():
            if batch is None:
                self._ended(number)
                continue
            collection = self._parts[number].collection
            self._reached.take(number, batch)
            self._progress[collection.full_name].read(len(batch))
            yield FoundDocuments(collection, batch, self._reached.place(next_start), self._row)
            self._row += len(batch)

    def _plan(self, left: Sequence[ChosenCollection]) -> Iterator[Part]:
        threads = self._config.snapshot_max_threads * self._config.snapshot_max_threads_multiplier
        size = sys.maxsize if self._config.legacy_snapshot_max_threads else part_size(left, threads)
        for number, collection in enumerate(left):
            start = None if number else self._start
            for chunk in divided(self._client, collection, size, None if start is None else start.after):
                yield _part(collection, chunk, start)

    def _read(self, number: int) -> Iterator[_Read]:
        part = self._parts[number]
        doing = f"reading {part.collection.full_name}"
        with self._client.start_session() as session, driver_errors(self._config, doing, waits=False):
            session.advance_operation_time(Timestamp(*self._moment))
            batches = documents(
                self._client,
                self._config,
                session,
                part.collection,
                low=part.low,
                high=part.high,
                in_order=part.in_order,
            )
            read_before = part.read_before
            for batch in batches:
                known = read_before and batch and identifier_text(batch[0]["_id"]) == part.low
                new = batch[1:] if known else batch
                read_before = False
                if new:
                    yield _Read(number, new)
        yield _Read(number, None)

    def _ended(self, number: int) -> None:
        self._reached.end(number)
        name = self._parts[number].collection.full_name
        self._open[name] -= 1
        if not self._open[name]:
            self._progress[name].finished()


def _part(collection: ChosenCollection, chunk: Chunk, start: SnapshotPlace | None) -> Part:
    begins, after = chunk.number == 0, start and start.after
    in_order = chunk.of > 1 or after is not None or (collection.indexed and collection.estimate > IN_ORDER_FROM)
    read_before = begins and after is not None and not (start and start.included)
    return Part(collection, chunk.low, chunk.high, in_order, begins, read_before)


class Reached:
    """How far the documents that were given out reach without a gap.

    Args:
        parts: all parts, in the order of collections and of `_id`.
        start: the place that the first one begins at; None: at its collection's beginning.
    """

    def __init__(self, parts: Sequence[Part], start: SnapshotPlace | None) -> None:
        self._parts = parts
        self._after = None if start is None else start.after
        self._included = start is not None and start.included
        self._first = 0
        self._last: dict[int, str] = {}
        self._ended: set[int] = set()

    def take(self, number: int, batch: Sequence[Document]) -> None:
        """Documents of the part with that number were given out."""
        if self._parts[number].in_order:
            self._last[number] = identifier_text(batch[-1]["_id"])

    def end(self, number: int) -> None:
        """The part has no more."""
        self._ended.add(number)
        while self._first in self._ended:
            self._ended.remove(self._first)
            if self._first in self._last:
                self._after, self._included = self._last.pop(self._first), False
            self._first += 1
            if self._first < len(self._parts) and self._parts[self._first].begins:
                self._after, self._included = None, False

    def place(self, rows: int) -> SnapshotPlace:
        """Where a snapshot goes on: all before it was given out, and some of what follows.

        Args:
            rows: the number of the first document then.
        """
        if self._first == len(self._parts):
            return SnapshotPlace(self._parts[-1].collection.full_name, DONE, rows)
        name = self._parts[self._first].collection.full_name
        if self._first in self._last:
            return SnapshotPlace(name, self._last[self._first], rows)
        return SnapshotPlace(name, self._after, rows, self._included)
