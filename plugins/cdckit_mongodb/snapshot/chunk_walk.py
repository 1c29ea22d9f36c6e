"""Walks along the `_id`s of a snapshot's collections, chunk by chunk, no further than it is asked to.

The server is asked for the `_id` a given number of documents further on, along the index alone. So chunks have about
the same size whatever the `_id`s look like, and those of a collection of any size need not be known before the first
one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from bson import MaxKey

from cdckit_mongodb.offsets import DONE, SNAPSHOT_NUMBERS, SnapshotPlace
from cdckit_mongodb.server.connection import CODEC, Client
from cdckit_mongodb.snapshot.chunks import divided
from cdckit_mongodb.snapshot.collections import ChosenCollection, identifier, identifier_text
from cdckit_mongodb.splits import Chunk

_NUMBERS_EACH = 10**7
"""How many numbers a chunk has for its documents' positions, if there are so many left: for 10^10 documents."""
_MOST_SAMPLED = 400
"""A collection that is read in one batch has no more chunks: they are found at once, by a sample."""


class ChunkWalk:
    """The chunks between two places of a snapshot.

    Args:
        client: where to.
        chosen: the collections of the snapshot, in order.
        size: about how many documents a chunk of each has.
        start: where to begin; None: at the snapshot's begin.
        until: where to end; None: at its end.
        whole: whether collections are read to their end, so that all their chunks are wanted.

    Attributes:
        left: the collections between the two places.
    """

    def __init__(
        self,
        client: Client,
        chosen: Sequence[ChosenCollection],
        size: Callable[[ChosenCollection], int],
        start: SnapshotPlace | None,
        until: SnapshotPlace | None,
        *,
        whole: bool,
    ) -> None:
        self._client = client
        self._size = size
        self._start = start
        self._until = until
        self._whole = whole
        self.left = [one for one in chosen if self._is_left(one)]

    def _is_left(self, one: ChosenCollection) -> bool:
        start, until = self._start, self._until
        if start is not None and (one.order < start.order or (one.order == start.order and start.after == DONE)):
            return False
        # before the first `_id` of a collection nothing of it lies
        return until is None or one.order < until.order or (one.order == until.order and until.after is not None)

    def chunks(self, part: int = 0) -> Iterator[Chunk]:
        """The chunks, in order; their positions are not numbered yet.

        Args:
            part: how many chunks of the first collection there were before.

        Raises:
            PyMongoError: the server does not answer, or refuses.
        """
        for collection in self.left:
            begun = self._start if self._start is not None and self._start.order == collection.order else None
            yield from self._pieces(collection, begun, part if begun is not None else 0)

    def _pieces(self, collection: ChosenCollection, begun: SnapshotPlace | None, part: int) -> Iterator[Chunk]:
        low, high = None if begun is None else begun.within, self._end(collection)
        left = max(0, collection.estimate - (0 if begun is None else begun.read))
        size = self._size(collection)
        for chunk in self._cut(replace(collection, estimate=left), low, high, size):
            number = part + chunk.number
            of = number + 1 if chunk.high is None else 0
            read_before = chunk.low is not None and chunk.low == low and not (begun is not None and begun.included)
            yield replace(chunk, number=number, of=of, read_before=read_before)

    def _end(self, collection: ChosenCollection) -> str | None:
        return self._until.within if self._until is not None and self._until.order == collection.order else None

    def _cut(self, collection: ChosenCollection, low: str | None, high: str | None, size: int) -> Iterator[Chunk]:
        if self._whole and high is None:
            yield from divided(self._client, collection, max(size, -(-collection.estimate // _MOST_SAMPLED)), low)
            return
        names, left, number = (collection.database, collection.name), collection.estimate, 0
        cuts = collection.indexed and (left > size or high is not None)
        while cuts and (bound := self._bound(collection, low, high, size)) is not None:
            yield Chunk(*names, low, bound, size, number=number)
            low, left, number = bound, max(0, left - size), number + 1
        yield Chunk(*names, low, high, min(left, size) if cuts else left, number=number)

    def _bound(self, collection: ChosenCollection, low: str | None, high: str | None, size: int) -> str | None:
        """The `_id` behind the next documents; None where no more are left, or none but that of MaxKey."""
        named = self._client[collection.database].get_collection(collection.name, codec_options=CODEC)
        cursor = named.find({}, {"_id": 1}, skip=size, limit=1).sort("_id", 1).hint([("_id", 1)])
        if low is not None:
            cursor.min(list(identifier(low).items()))
        if high is not None:
            cursor.max(list(identifier(high).items()))
        found = next(cursor, None)
        if found is None or isinstance(found["_id"], MaxKey):
            return None
        text = identifier_text(found["_id"])
        return None if text == low else text  # on several shards an _id may stand more than once


def numbered(chunks: Sequence[Chunk], start: SnapshotPlace | None, until: SnapshotPlace | None) -> list[Chunk]:
    """The chunks with numbers for their documents' positions, which lie between those of two places.

    So those of a batch that is planned anew, in whatever chunks, meet no others'.
    """
    first = 0 if start is None else start.rows
    behind = SNAPSHOT_NUMBERS if until is None else until.rows
    step = max(1, min(_NUMBERS_EACH, (behind - first) // max(1, len(chunks))))
    return [replace(chunk, first_row=min(first + number * step, behind - 1)) for number, chunk in enumerate(chunks)]


def place_behind(chunks: Sequence[Chunk], start: SnapshotPlace | None) -> SnapshotPlace:
    """The place behind the last of some chunks; the next documents are numbered behind what these may take."""
    first, last = 0 if start is None else start.rows, chunks[-1]
    # Half of what is left at the most: however many batches come, there are numbers left.
    rows = first + max(1, min(len(chunks) * _NUMBERS_EACH, (SNAPSHOT_NUMBERS - first) // 2))
    if last.high is None:
        return SnapshotPlace(last.full_name, DONE, rows)
    read = sum(chunk.estimate for chunk in chunks if chunk.full_name == last.full_name)
    if start is not None and start.collection == last.full_name:
        read += start.read
    return SnapshotPlace(last.full_name, last.high, rows, included=True, read=read)
