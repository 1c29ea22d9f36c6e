"""Plans a snapshot whose chunks are read at the same time, batch by batch, while the stream tells what changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from cdckit import Offset, SourceContext, Split
from cdckit.connector.snapshot_parts import BatchQuota, estimate_of, share_out
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.offsets import SnapshotPlace, StreamOffset
from cdckit_mongodb.server.connection import Client, driver_errors
from cdckit_mongodb.snapshot.chunk_progress import ChunkProgress
from cdckit_mongodb.snapshot.chunk_walk import ChunkWalk, numbered, place_behind
from cdckit_mongodb.snapshot.chunks import divided, part_size
from cdckit_mongodb.snapshot.collections import ChosenCollection, choose_collections
from cdckit_mongodb.snapshot.document_sizes import DocumentSizes
from cdckit_mongodb.splits import Chunk, ChunkWork, Name

_CHUNK_DOCUMENTS = 50_000
"""A chunk that is read in its turn has no more documents …"""
_CHUNK_BYTES = 16 << 20
"""… nor more than about so many bytes of its collection …"""
_MOST_EXPECTED = 50_000
"""… unless the snapshot would have more chunks: half of those that have all their numbers."""
_CHUNKS_AT_A_TIME = 8
"""Where the documents of a batch are told, it has so many chunks at least."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The collections of a snapshot.

    Attributes:
        end: the offset behind it.
        chosen: those that it reads, in order.
    """

    end: StreamOffset
    chosen: Sequence[ChosenCollection]


@dataclass(frozen=True, slots=True)
class _Walked:
    """The chunks between two offsets."""

    first: StreamOffset
    last: StreamOffset
    chunks: Sequence[Chunk]


class ChunkBatches:
    """Plans for one source.

    Args:
        config: the source's options.
        filters: what is captured.
        client: connects.
    """

    def __init__(self, config: MongoDbConfig, filters: Filters, client: Callable[[], Client]) -> None:
        self._config = config
        self._filters = filters
        self._client = client
        self._sizes = DocumentSizes()
        self._known: _Known | None = None
        self._walked: _Walked | None = None
        self._progress = ChunkProgress()

    def cut(
        self, first: StreamOffset, last: StreamOffset, context: SourceContext, max_bytes: int
    ) -> StreamOffset | None:
        """A place within the snapshot before which about so much lies; None where less is left.

        Args:
            first: where it is due, or has come to.
            last: the moment that the stream goes on from.
            context: the runner's.
            max_bytes: how much of the collections lies before it, unless the options say how many documents.

        Raises:
            SourceError: the server refuses.
        """
        reached = first.reached(last)
        with driver_errors(self._config, "planning the snapshot"):
            known = self._of(last)
            walk = self._walk(known, reached, None, context)
            chunks = list(self._batch(walk.chunks(self._progress.part(reached)), known, max_bytes, context))
        last_one = not chunks or (chunks[-1].high is None and chunks[-1].full_name == walk.left[-1].full_name)
        place = None if last_one else place_behind(chunks, reached)
        end = last if place is None else last.within_snapshot(place)
        # What is one batch as a whole is cut for those who read it: how many they are is known when it is planned.
        whole = reached is None and place is None
        self._walked = None if whole else _Walked(first, end, numbered(chunks, reached, place))
        return None if place is None else end

    def between(self, start: Offset, end: Offset, context: SourceContext, parallelism: int) -> list[Split]:
        """The splits of a snapshot, or of a part of it.

        Args:
            start: where it is due, or has come to.
            end: the moment that the stream goes on from, or a place before that.
            context: the runner's.
            parallelism: how many of them may be read at the same time.

        Raises:
            SourceError: the server refuses.
        """
        first, last = StreamOffset.from_json(start), StreamOffset.from_json(end)
        reached, until = first.reached(last), last.snapshot
        found, self._walked = self._walked, None
        with driver_errors(self._config, "planning the snapshot"):
            known = self._of(last)
            if found is None or (found.first, found.last) != (first, last):
                chunks = numbered(list(self._anew(known, reached, until, context, parallelism)), reached, until)
            else:
                chunks = list(found.chunks)
        self._progress.tell(known.chosen, known.end, reached, until, chunks, context.notices)
        work = ChunkWork(())
        if context.marks:
            work = self._marked(known, reached, until, chunks)
        groups = share_out(chunks, parallelism) or ([[]] if work.ended else [])
        return [
            Split(start, end, replace(ChunkWork(()) if number else work, chunks=tuple(group)), estimate_of(group))
            for number, group in enumerate(groups)
        ]

    def _anew(
        self,
        known: _Known,
        reached: SnapshotPlace | None,
        until: SnapshotPlace | None,
        context: SourceContext,
        parallelism: int,
    ) -> Iterator[Chunk]:
        """The chunks of a batch that was cut in an earlier run, or of a snapshot that is one batch."""
        if reached is None and until is None:
            size = part_size(known.chosen, parallelism)
            return (chunk for one in known.chosen for chunk in divided(self._client(), one, size))
        return self._walk(known, reached, until, context).chunks(self._progress.part(reached))

    def names(self, end: Offset) -> list[Name]:
        """The collections of a snapshot."""
        with driver_errors(self._config, "planning the snapshot"):
            return [(one.database, one.name) for one in self._of(StreamOffset.from_json(end)).chosen]

    def _of(self, end: StreamOffset) -> _Known:
        """The snapshot's collections; those that come later are told by the stream."""
        behind = end.behind_snapshot()
        if self._known is None or self._known.end != behind:
            again = behind.resnapshot
            only = None if again is None else again.tables
            self._known = _Known(behind, choose_collections(self._client(), self._config, self._filters, only))
        return self._known

    def _walk(
        self, known: _Known, start: SnapshotPlace | None, until: SnapshotPlace | None, context: SourceContext
    ) -> ChunkWalk:
        least = -(-sum(one.estimate for one in known.chosen) // _MOST_EXPECTED)
        rows = self._config.snapshot_batch_rows
        most = min(_CHUNK_DOCUMENTS, -(-rows // _CHUNKS_AT_A_TIME)) if rows else _CHUNK_DOCUMENTS

        def size(collection: ChosenCollection) -> int:
            fits = _CHUNK_BYTES // self._sizes.of(self._client(), collection)
            return max(1, least, min(most, fits))

        return ChunkWalk(self._client(), known.chosen, size, start, until, whole=self._takes_whole(context))

    def _takes_whole(self, context: SourceContext) -> bool:
        """Whether batches end with a collection: what is added to a table later is merged into it, row by row."""
        return context.marks and not self._config.snapshot_batch_rows

    def _batch(self, chunks: Iterator[Chunk], known: _Known, max_bytes: int, context: SourceContext) -> Iterator[Chunk]:
        """What one batch takes of the chunks that are left."""
        quota = BatchQuota(self._config.snapshot_batch_rows, max_bytes, whole=self._takes_whole(context))
        named = {one.full_name: one for one in known.chosen}
        for chunk in chunks:
            yield chunk
            name = chunk.full_name
            size = self._sizes.of(self._client(), named[name])
            if quota.filled(name, chunk.estimate, size, last=chunk.high is None):
                return

    def _marked(
        self, known: _Known, reached: SnapshotPlace | None, until: SnapshotPlace | None, chunks: Sequence[Chunk]
    ) -> ChunkWork:
        """Which collections' documents begin and end in a batch, for table marks."""
        begun = tuple((chunk.database, chunk.collection) for chunk in chunks if chunk.low is None)
        ended = [(chunk.database, chunk.collection) for chunk in chunks if chunk.high is None]
        if reached is not None and self._gone(reached, until, known):
            database, _, name = reached.collection.partition(".")
            ended.append((database, name))
        names = [(one.database, one.name) for one in known.chosen]
        ahead = tuple(name for name in names if name not in set(begun)) if reached is None else ()
        return ChunkWork((), begun, tuple(ended), ahead, begins=reached is None)

    def _gone(self, reached: SnapshotPlace, until: SnapshotPlace | None, known: _Known) -> bool:
        """Whether a collection of which a part was read has been dropped since: nothing is left of it."""
        within = reached.within is not None and (until is None or until.collection != reached.collection)
        database, _, name = reached.collection.partition(".")
        there = any(one.full_name == reached.collection for one in known.chosen)
        return within and not there and self._filters.captures(database, name)
