"""Reads the change stream as batches, and keeps at it when the connection is lost."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cdckit import Batch, Record, SourceContext
from cdckit.connector.heartbeat import Heartbeats
from cdckit.connector.notifications import Notifications
from cdckit.connector.signals import Mailbox
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events.collection_events import Collections
from cdckit_mongodb.events.collection_marker import CollectionMarker
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.incremental.signalling import Signalling
from cdckit_mongodb.offsets import StreamOffset, moment_text
from cdckit_mongodb.server.connection import Client
from cdckit_mongodb.streaming.cursor import ChangeStream
from cdckit_mongodb.streaming.processor import StreamProcessor
from cdckit_mongodb.tokens import is_event, token_moment, token_time

log = logging.getLogger("cdckit.mongodb")

_RANGE_WAIT_MS = 100


class StreamReader:
    """Batches of one stretch of the stream.

    Args:
        client: makes the connections.
        config: the source's options.
        filters: what is captured.
        collections: what makes records.
        context: the runner's.
        notifications: told of snapshots that signals ask for.
        mailbox: signals of channels beside the stream; None where no signals are taken.
        group: the number of the group of collections whose changes are read; None: those of all collections.
        marker: makes table marks; None where none are wanted.
    """

    def __init__(
        self,
        client: Client,
        config: MongoDbConfig,
        filters: Filters,
        collections: Collections,
        context: SourceContext,
        notifications: Notifications,
        mailbox: Mailbox | None,
        group: int | None = None,
        marker: CollectionMarker | None = None,
    ) -> None:
        self._marker = marker
        self._notifications = notifications
        self._mailbox = mailbox
        self._group = group
        self._done = False
        self._client = client
        self._config = config
        self._filters = filters
        self._collections = collections
        self._stopping = context.stopping
        self._notices = context.notices
        self._counts = context.counts
        self._give_away = context.undecoded
        answered = config.mongodb_socket_timeout_ms / 2 or config.poll_interval_ms
        longest = min(context.idle_seconds * 1000, config.poll_interval_ms, answered)
        self._wait_ms = int(min(longest, config.cursor_max_await_time_ms or longest))

    def follow(self, start: StreamOffset, heartbeats: Heartbeats) -> Iterator[Batch]:
        """Batches from `start` on, without end; behind a target that was dropped the stream is opened anew.

        Heartbeats come among them when they are due.

        Raises:
            HistoryLostError: the place is gone from the oplog.
            RetriableSourceError: the connection was lost; reading may go on from the last batch's offset.
            SourceError: it cannot go on.
            DecodeError: an event cannot be understood.
        """
        at = start
        # An invalidate event ends the cursor on the server's side. The offset behind it has its token, from which a new
        # stream starts (`startAfter`).
        while not self._stopping():
            for batch in self._opened(at):
                batch.records = [*batch.records, *heartbeats.due()]
                yield batch
                at = StreamOffset.from_json(batch.offset) if batch.offset is not None else at

    def range(self, start: StreamOffset, end: StreamOffset, *, closed: bool) -> Iterator[Batch]:
        """Batches from `start` up to the moment of `end`; `closed` ends a transaction in hand there.

        Raises:
            HistoryLostError: the place is gone from the oplog.
            RetriableSourceError: the connection was lost.
        """
        if self._mailbox is not None:
            yield from self._listening(start, end)
            return
        at, ahead = start, start.moment < end.moment
        if ahead:
            yield from self._rest_of_event(start)
        while ahead:
            for batch in self._stretch(at, end, closed=closed):
                yield batch
                at = StreamOffset.from_json(batch.offset or {})
            ahead = at.token != end.token

    def _listening(self, start: StreamOffset, end: StreamOffset) -> Iterator[Batch]:
        """Batches from `start` up to the moment of `end`, and on until what signals ask for is done."""
        at, self._done = start, False
        while not self._done and not self._stopping():
            for batch in self._opened(at, end):
                yield batch
                at = StreamOffset.from_json(batch.offset) if batch.offset is not None else at

    def _opened(self, start: StreamOffset, end: StreamOffset | None = None) -> Iterator[Batch]:
        yield from self._rest_of_event(start)
        with self._stream(start) as stream, self._signalling(start) as signalling:
            self._notices.connection(connected=True, reason="")
            if stream.member:
                log.info("the change stream is read from %s", stream.member)
            processor = self._processor(start, signalling)
            while stream.alive and not self._stopping() and not self._done:
                events = stream.next(self._wait_ms if end is None else _RANGE_WAIT_MS)
                yield self._batch(stream, processor, events)
                if signalling is not None:
                    yield from self._between(signalling, stream, processor)
                    passed = end is not None and _passed(stream, end, idle=not events)
                    self._done = passed and not signalling.snapshot.busy

    def _processor(self, start: StreamOffset, signalling: Signalling | None = None) -> StreamProcessor:
        processor = StreamProcessor(
            self._config, self._filters, self._collections, start, signalling, self._marker, self._give_away
        )
        processor.count_in(self._counts)
        return processor

    def _between(self, signalling: Signalling, stream: ChangeStream, processor: StreamProcessor) -> Iterator[Batch]:
        """Does what signals ask for between two batches."""
        yield from signalling.between(
            lambda: self._batch(stream, processor, []),
            lambda wanted: signalling.blocking(wanted, processor.moment),
        )

    @contextmanager
    def _signalling(self, start: StreamOffset) -> Iterator[Signalling | None]:
        """What listens to signals, where they come from anywhere."""
        if self._mailbox is None:
            yield None
            return
        made = Signalling(
            self._client,
            self._config,
            self._filters,
            self._collections,
            self._mailbox,
            self._notifications,
            start.incremental,
        )
        try:
            yield made
        finally:
            made.close()

    def _stretch(self, start: StreamOffset, end: StreamOffset, *, closed: bool) -> Iterator[Batch]:
        """Until everything up to `end` has come, or the server closes the stream: its target was dropped or renamed."""
        with self._stream(start) as stream:
            processor = self._processor(start)
            while stream.alive:
                events = stream.next(_RANGE_WAIT_MS)
                within = _within(events, moment_text(end.moment))
                # An end is a moment, and events of one moment belong together: the first token beyond it says that all
                # have come.
                if len(within) < len(events) or _passed(stream, end, idle=not events):
                    processor.process_all(within)
                    if closed:
                        processor.end_transaction()
                    at = processor.offset(stream.token, complete=False)
                    reached = end.with_changes(transaction_id=at.transaction_id, counts=at.counts)
                    marks = processor.take_marks()
                    yield Batch(processor.take(), reached.to_json(), processor.time_ms, marks=marks)
                    return
                yield self._batch(stream, processor, events)

    def _rest_of_event(self, start: StreamOffset) -> Iterator[Batch]:
        """The tombstone of the delete that an offset is behind, where that may not have been told."""
        if not start.event_in_part or start.token is None:
            return
        # By the moment, not by the token: the stream has to give the event itself once more.
        begin = StreamOffset(sec=start.sec, ord=start.ord)
        processor = StreamProcessor(self._config, self._filters, self._collections, begin)
        with self._stream(begin) as stream:
            while stream.alive and not self._stopping():
                found = [event for event in stream.next(_RANGE_WAIT_MS) if event["_id"] == start.token]
                processor.process_all(found)
                if found or token_time(stream.token) > start.time:
                    break
        tombstones = [record for record in processor.take() if record.value is None]
        if tombstones:
            yield Batch(tombstones, None)

    def _stream(self, start: StreamOffset) -> ChangeStream:
        return ChangeStream(self._client, self._config, start, self._group)

    def _batch(self, stream: ChangeStream, processor: StreamProcessor, events: list[dict[str, object]]) -> Batch:
        processor.process_all(events)
        records: list[Record] = [*processor.take(), *self._notifications.take()]
        offset = processor.offset(stream.token, complete=True).to_json()
        return Batch(records, offset, processor.time_ms, marks=processor.take_marks())


def heartbeats_of(config: MongoDbConfig, collections: Collections) -> Heartbeats:
    """Those of a source, for as long as it is open: a connection that is lost does not put the next one off."""
    versioned = collections.format.versioned
    return Heartbeats(
        collections.topics.heartbeat, config.topic_prefix, config.heartbeat_interval_ms, versioned=versioned
    )


def _within(events: list[dict[str, Any]], last: str) -> list[dict[str, Any]]:
    """The events up to a moment."""
    if not events or token_moment(events[-1]["_id"]) <= last:
        return events
    return [event for event in events if token_moment(event["_id"]) <= last]


def _passed(stream: ChangeStream, end: StreamOffset, *, idle: bool) -> bool:
    """Whether nothing more can come up to the moment of `end`; a transaction's events share theirs."""
    moment = token_time(stream.token)
    return moment > end.moment or (moment == end.moment and (idle or not is_event(stream.token)))
