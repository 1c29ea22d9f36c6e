"""Reads the log from a server as batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import IO

from cdckit import Batch, DecodeError, Record, SourceContext, SourceError
from cdckit.connector.heartbeat import Heartbeats
from cdckit.connector.topics import Topics
from cdckit_mysql.binlog.errors import LogEndedError
from cdckit_mysql.binlog.events import LogEvent
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.formats import event_format
from cdckit_mysql.offsets import LogOffset, file_number
from cdckit_mysql.splits import LogWork
from cdckit_mysql.streaming.begun_transaction import BegunTransaction
from cdckit_mysql.streaming.heartbeat_action import HeartbeatAction
from cdckit_mysql.streaming.log_pieces import spans_of
from cdckit_mysql.streaming.opened_log import OpenedLog, OpenLog
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.spool import spooled_spans
from cdckit_mysql.streaming.transaction_range import TransactionRange

_REST_OF_TRANSACTION = 0.02
"""How many seconds to wait for the rest of a transaction that has begun to arrive before its events are passed on."""
_ALL = 1 << 62


class LogReader:
    """Batches of one stretch of the log.

    Args:
        config: the source's options.
        open_log: asks the server for the log.
        make_processor: makes what turns events into records, from an offset on.
        context: the runner's.
    """

    def __init__(
        self,
        config: MySqlConfig,
        open_log: OpenLog,
        make_processor: Callable[[LogOffset], LogProcessor],
        context: SourceContext,
    ) -> None:
        self._config = config
        self._open_log = open_log
        self._make_processor = make_processor
        self._stopping = context.stopping
        self._notices = context.notices
        self._idle = min(context.idle_seconds, config.poll_interval_ms / 1000)
        self._heartbeat_action = HeartbeatAction(config)

    def follow(self, start: LogOffset, heartbeats: Heartbeats) -> Iterator[Batch]:
        """Batches from `start` on, and heartbeats among them when they are due. Ends only when asked to.

        Raises:
            RetriableSourceError: the connection was lost; reading may go on from the last batch's offset.
            PositionLostError: the server does not have the log from there on.
            SourceError: it cannot go on.
            DecodeError: an event cannot be understood.
        """
        for batch in self._connected(start):
            due = heartbeats.due()
            if due:
                self._heartbeat_action.run()
            yield replace(batch, records=[*batch.records, *due]) if due else batch

    def range(
        self, start: LogOffset, end: LogOffset, replayed: Callable[[LogOffset], None], *, within: bool = False
    ) -> Iterator[Batch]:
        """Batches from `start` to `end`, and on to where the processor has come to an end with its own work.

        Args:
            start: where to begin.
            end: where to end.
            replayed: called at the end where that was planned at another server, with the start as this one counts.
            within: whether more of the log belongs to the same batch.

        Raises:
            RetriableSourceError: the connection was lost, or the log ended before `end`.
            PositionLostError: the server does not have the log from there on, or not all of it.
        """
        connection, start = self._open_log(start, end)
        with connection:
            processor = self._make_processor(start)
            yield from _begun(processor)
            if isinstance(connection, TransactionRange):
                yield from self._replay(connection, processor)
                self._require_begun(processor)
                replayed(start)
                yield Batch([], end.to_json(), processor.progress.time_us // 1000 or None)
                return
            yield from processor.between()
            events: Iterator[LogEvent] = iter(())
            # A range may be done before anything comes: where it was begun by GTID, the server sends none of its
            # transactions.
            done = processor.progress.reached(end) or (start.by_gtid and processor.progress.has(end))
            until, size = (processor.further() if done else end), 0
            while until is not None and not processor.ended and not self._stopping():
                try:
                    full = processor.process(events, self._config.max_batch_size, until)
                except DecodeError:
                    yield batch_of(processor, size)  # what came before it
                    raise
                if full or size or processor.records or processor.marks:
                    yield batch_of(processor, size)
                    yield from processor.between()
                    size = 0
                if processor.progress.reached(until) or (start.by_gtid and processor.progress.has(until)):
                    until = processor.further()
                elif not full:
                    if connection.ended:
                        raise LogEndedError(f"the log ended before {until.position}")
                    events, size = read_events(connection, self._idle)
            if not within:
                self._require_begun(processor)

    def _require_begun(self, processor: LogProcessor) -> None:
        """Sees that a range has had what was begun at another server: that is written with it, or not at all."""
        if processor.awaits and not processor.ended and not self._stopping():
            raise LogEndedError("the log ended before transactions that tables have in part from another server")

    def part(self, start: LogOffset, end: LogOffset, begun: BegunTransaction | None) -> Iterator[Batch]:
        """Batches from `start` to `end`, of which at least one lies within a transaction.

        They have no offsets: other readers have the rest of it.

        Args:
            start: where to begin.
            end: where to end.
            begun: what lies before `start` of the transaction there; None: it lies between two.

        Raises:
            RetriableSourceError: the connection was lost, or the log ended before `end`.
            PositionLostError: the server does not have the log from there on.
        """
        connection, start = self._open_log(start)
        with connection:
            parser, until = connection.parser, (file_number(end.file), end.pos)
            processor = begun_processor(start, self._make_processor, begun, parser)
            while (file_number(parser.file), parser.position) < until and not self._stopping():
                events, size = read_events(connection, self._idle)
                events = _up_to(events, parser, until)
                while processor.process(events, self._config.max_batch_size) or processor.records or processor.marks:
                    yield _part_of(processor, size)
                    size = 0
                if connection.ended and (file_number(parser.file), parser.position) < until:
                    raise LogEndedError(f"the log ended before {end.position}")

    def _replay(self, connection: TransactionRange, processor: LogProcessor) -> Iterator[Batch]:
        """Batches of a range that was planned at another server.

        They have no offset: transactions that are left out lie between, and the next range begins where this one ends.
        """
        while not connection.ended:
            events, size = read_events(connection, self._idle)
            while processor.process(events, self._config.max_batch_size) or processor.records or processor.marks:
                yield _part_of(processor, size)
                size = 0

    def _connected(self, start: LogOffset) -> Iterator[Batch]:
        connection, start = self._open_log(start)
        with connection, closing(self._heartbeat_action):
            self._notices.connection(connected=True, reason="")
            # From the start as this server counts it: behind a failover files and epoch are others.
            processor = self._make_processor(start)
            yield from _begun(processor)
            yield from processor.between()
            while not self._stopping() and not processor.ended:
                yield from self._gather(connection, processor)
                yield from processor.between()

    def _gather(self, connection: OpenedLog, processor: LogProcessor) -> Iterator[Batch]:
        """Batches of what arrives now; at least one, which may be empty."""
        most, size, wait = self._config.max_batch_size, 0, self._idle
        until = time.monotonic() + self._idle
        while True:
            try:
                events, arrived = read_events(connection, wait)
                size += arrived
                while processor.process(events, most):
                    yield batch_of(processor, size)
                    size = 0
                    yield from processor.between()
                    if processor.ended:
                        return
            except (SourceError, DecodeError):
                if size or processor.records or processor.marks:
                    yield batch_of(processor, size)  # what came before it
                raise
            if not arrived or time.monotonic() >= until:
                yield batch_of(processor, size)
                return
            # Behind the first bytes only what is there already is taken: a commit is not held up for one that may
            # follow.
            wait = _REST_OF_TRANSACTION if processor.progress.in_transaction else 0.0


def heartbeats_of(config: MySqlConfig) -> Heartbeats:
    """Those of a source, for as long as it is open: a connection that is lost does not put the next one off."""
    topic = Topics(config, config.topic_prefix).heartbeat
    versioned = event_format(config).versioned
    return Heartbeats(topic, config.topic_prefix, config.heartbeat_interval_ms, versioned=versioned)


def read_events(connection: OpenedLog, wait: float) -> tuple[Iterator[LogEvent], int]:
    """The events that have arrived, and how many bytes they take."""
    spans = connection.packets(wait)
    return connection.parser.events(spans), sum(end - start for _, start, end in spans)


def _up_to(events: Iterator[LogEvent], parser: EventParser, until: tuple[int, int]) -> Iterator[LogEvent]:
    """The events before a place (the number of its file, and where in that), which one of them ends at."""
    for event in events:
        yield event
        if (file_number(parser.file), parser.position) >= until:
            return


def _begun(processor: LogProcessor) -> Iterator[Batch]:
    """Says before anything is given out that something is to come again which was begun at another server."""
    if processor.awaits:
        yield replace(batch_of(processor, 0), offset=None)


def batch_of(processor: LogProcessor, size: int) -> Batch:
    """What the processor has gathered, and the offset behind it."""
    begun = processor.begun()
    records: list[Record] = processor.take()
    marks, processor.marks = processor.marks, []
    offset, time_ms = processor.offset(), processor.progress.time_us // 1000 or None
    batch = Batch(records, offset.to_json(), time_ms, size, marks=marks, begun=begun)
    if processor.row_ends is not None:
        batch.ends = processor.row_ends.take()
    return batch


def kept_events(work: LogWork) -> Iterator[Sequence[Span]] | None:
    """The events of a split that its planner has kept, a part at a time; None where they have to be asked for."""
    if work.events is not None:
        return iter([list(spans_of(work.events))])
    file = None if work.spooled is None else work.spooled.open()
    if file is None or work.spooled is None:
        return None
    return _closing(file, spooled_spans(file, work.spooled.size, checksums=work.checksums))


def _closing(file: IO[bytes], parts: Iterator[Sequence[Span]]) -> Iterator[Sequence[Span]]:
    with file:
        yield from parts


def begun_processor(
    start: LogOffset, make: Callable[[LogOffset], LogProcessor], begun: BegunTransaction | None, parser: EventParser
) -> LogProcessor:
    """What turns events into records from a place on, and so the parser, where they are to begin within a transaction.

    Args:
        start: the place.
        make: makes a processor.
        begun: what lies before the place of the transaction there; None: it lies between two.
        parser: reads the events from there on.
    """
    if begun is None:
        return make(start)
    processor = make(begun.resumed(start))
    before = EventParser(processor.progress.file, begun.pos, checksums=begun.checksums)
    processor.process(before.events((event, 0, len(event)) for event in begun.events), _ALL)
    parser.announced_by(before)
    return processor


def _part_of(processor: LogProcessor, size: int) -> Batch:
    """As `batch_of` makes it, without an offset: other readers have the rest of the transaction."""
    return replace(batch_of(processor, size), offset=None)


def read_kept(
    parts: Iterable[Sequence[Span]],
    start: LogOffset,
    make_processor: Callable[[LogOffset], LogProcessor],
    work: LogWork,
    most: int,
) -> Iterator[Batch]:
    """Batches of events that a planner has kept: of `most` records or a few more, but for the last one.

    Those of a part of a transaction have no offsets.

    Raises:
        DecodeError: an event cannot be understood.
    """
    made = _part_of if work.part else batch_of
    parser, size = EventParser(start.file, start.pos, checksums=work.checksums), 0
    processor = begun_processor(start, make_processor, work.begun, parser)
    for spans in parts:
        size += sum(end - at for _, at, end in spans)
        events = parser.events(spans)
        while processor.process(events, most):
            yield made(processor, size)
            size = 0
    yield made(processor, size)
