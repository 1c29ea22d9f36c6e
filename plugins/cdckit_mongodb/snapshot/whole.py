"""The whole snapshot: every captured collection, one after the other or several at the same time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence

from bson import Timestamp
from pymongo.client_session import ClientSession

from cdckit import Batch, Record, SourceContext
from cdckit.connector.snapshot_progress import SnapshotProgress
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events.collection_events import Collections
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.offsets import DONE, SnapshotPlace, StreamOffset
from cdckit_mongodb.server.connection import Client, driver_errors
from cdckit_mongodb.snapshot.collections import (
    IN_ORDER_FROM,
    ChosenCollection,
    FoundDocuments,
    choose_collections,
    documents,
    identifier_text,
)
from cdckit_mongodb.snapshot.parallel import ParallelSnapshot
from cdckit_mongodb.streaming.cursor import ChangeStream
from cdckit_mongodb.tokens import token_time

log = logging.getLogger("cdckit.mongodb")


def note_moment(client: Client, config: MongoDbConfig) -> StreamOffset:
    """The place in the stream that a snapshot counts from: now.

    Raises:
        SourceError: the server refuses.
    """
    with ChangeStream(client, config, None) as stream:
        # a new stream's first token is the moment right behind the cluster's present time; the answer's operation
        # time is no measure: it may lie before that, at what a majority has
        sec, order = token_time(stream.token)
        return StreamOffset(sec=sec, ord=order - 1, complete=True, token=stream.token)


class WholeSnapshot:
    """Reads the snapshot of one source.

    Args:
        client: where to.
        config: the source's options.
        filters: what is captured.
        collections: what makes records.
        context: the runner's.
    """

    def __init__(
        self, client: Client, config: MongoDbConfig, filters: Filters, collections: Collections, context: SourceContext
    ) -> None:
        self._client = client
        self._config = config
        self._filters = filters
        self._collections = collections
        self._context = context

    def batches(self, start: StreamOffset) -> Iterator[Batch]:
        """The snapshot's batches, from where it was left; the last one's offset lies behind it.

        Raises:
            RetriableSourceError: the connection was lost; it may go on from the last batch's offset.
            SourceError: the server refuses.
        """
        offset = start.with_changes(after_snapshot=False) if start.snapshot is not None else self._begin()
        with driver_errors(self._config, "asking for the collections"):
            left = list(self._left(start))
        self._context.notices.snapshot_started(data_collections={one.full_name: one.estimate for one in left})
        with driver_errors(self._config, "reading the snapshot", waits=False):
            for found, following in _with_following(self._found(left, start.snapshot, offset)):
                if self._context.stopping():
                    return
                place = self._place(found, following)
                unfinished = offset.with_changes(snapshot_due=True, snapshot=place)
                records = self._records(found, offset, last=following is None)
                yield Batch(records, unfinished.to_json(), repeats=place.after is None)
        self._context.notices.snapshot_ended(completed=True)
        pause(self._config.streaming_delay_ms, "the stream (streaming.delay.ms)", self._context.stopping)
        again = offset.resnapshot and offset.resnapshot.finished()
        done = offset.with_changes(snapshot_due=False, snapshot=None, resnapshot=again)
        yield Batch([], done.to_json(), time.time_ns() // 1_000_000, save=True)

    def _begin(self) -> StreamOffset:
        pause(self._config.snapshot_delay_ms, "the snapshot (snapshot.delay.ms)", self._context.stopping)
        offset = note_moment(self._client, self._config)
        log.info("snapshot from %d:%d on", *offset.moment)
        return offset

    def _place(self, found: FoundDocuments, following: FoundDocuments | None) -> SnapshotPlace:
        """How far the snapshot is behind some documents; several connections have other collections in hand, too."""
        same = following is not None and following.collection == found.collection
        if same or self._config.snapshot_max_threads > 1:
            return found.place
        return SnapshotPlace(found.collection.full_name, DONE, found.first_row + len(found.documents))

    def _records(self, found: FoundDocuments, offset: StreamOffset, *, last: bool) -> list[Record]:
        """The records of some documents; Debezium marks the very last one of a snapshot."""
        made = self._collections.of(found.collection.database, found.collection.name)
        first = found.first_row
        if not last:
            return made.reads(found.documents, offset.moment, first)
        *before, final = found.documents
        return [
            *made.reads(before, offset.moment, first),
            *made.reads([final], offset.moment, first + len(before), "last"),
        ]

    def _left(self, start: StreamOffset) -> Iterator[ChosenCollection]:
        """The collections that are not read to their end, from where the snapshot is on."""
        place, again = start.snapshot, start.resnapshot
        only = None if again is None else again.tables
        for collection in choose_collections(self._client, self._config, self._filters, only):
            if place is not None:
                done = collection.full_name == place.collection and place.after == DONE
                if done or collection.order < place.order:
                    continue
            yield collection

    def _found(
        self, left: Sequence[ChosenCollection], place: SnapshotPlace | None, offset: StreamOffset
    ) -> Iterator[FoundDocuments]:
        """The documents of the collections that are left, through one connection or several."""
        if self._config.snapshot_max_threads > 1:
            yield from ParallelSnapshot(
                self._client, self._config, left, place, offset.moment, self._context.notices
            ).found()
            return
        with self._client.start_session() as session:
            session.advance_operation_time(Timestamp(*offset.moment))
            yield from self._read(session, left, place)

    def _read(
        self, session: ClientSession, left: Sequence[ChosenCollection], place: SnapshotPlace | None
    ) -> Iterator[FoundDocuments]:
        """The documents of the collections that are left, from `place` on."""
        rows = 0 if place is None else place.rows
        for collection in left:
            same = place is not None and collection.full_name == place.collection
            for found in self._documents(session, collection, place if same else None, rows):
                rows = found.first_row + len(found.documents)
                yield found

    def _documents(
        self, session: ClientSession, collection: ChosenCollection, reached: SnapshotPlace | None, rows: int
    ) -> Iterator[FoundDocuments]:
        after, included = (None, False) if reached is None else (reached.after, reached.included)
        progress = SnapshotProgress(self._context.notices, collection.full_name, collection.estimate)
        in_order = after is not None or (collection.indexed and collection.estimate > IN_ORDER_FROM)
        begin = rows
        for found in documents(self._client, self._config, session, collection, low=after, in_order=in_order):
            read_before = after is not None and not included and found and identifier_text(found[0]["_id"]) == after
            batch = found[1:] if read_before else found
            if not batch:
                continue
            place = SnapshotPlace(collection.full_name, None, begin)
            if in_order:
                place = SnapshotPlace(collection.full_name, identifier_text(batch[-1]["_id"]), rows + len(batch))
            yield FoundDocuments(collection, batch, place, rows)
            rows += len(batch)
            progress.read(len(batch))
        progress.finished()


def _with_following(found: Iterator[FoundDocuments]) -> Iterator[tuple[FoundDocuments, FoundDocuments | None]]:
    """Each one with the one after it."""
    held: FoundDocuments | None = None
    for one in found:
        if held is not None:
            yield held, one
        held = one
    if held is not None:
        yield held, None


def pause(milliseconds: int, before: str, stopping: Callable[[], bool]) -> None:
    """Waits, and says so, unless the pipeline is asked to stop."""
    if milliseconds:
        log.info("waiting %g s before %s", milliseconds / 1000, before)
    until = time.monotonic() + milliseconds / 1000
    while time.monotonic() < until and not stopping():
        time.sleep(min(0.1, max(0.0, until - time.monotonic())))
