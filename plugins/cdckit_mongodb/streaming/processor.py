"""Change events become records, in order."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from cdckit import DecodeError, Record, SourceCounts, StateError, Struct, TableMark, Undecoded
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.connector.transactions import Transaction
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events.collection_events import CollectionEvents, Collections, Session
from cdckit_mongodb.events.collection_marker import MARKED, CollectionMarker
from cdckit_mongodb.extended_json import COMPACT, milliseconds_of
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.incremental.signalling import Signalling
from cdckit_mongodb.offsets import Moment, StreamOffset, moment_text, stream_position
from cdckit_mongodb.streaming.passed_over import OPERATIONS, undecoded
from cdckit_mongodb.tokens import Token, is_event, token_place, token_time

log = logging.getLogger("cdckit.mongodb")

Event = dict[str, Any]

_PASSED_OVER = 10_000
_DAMAGE: tuple[type[Exception], ...] = (*DAMAGE, StateError)
_UNSHOWN: tuple[type[Exception], ...] = (*DAMAGE, DecodeError)
_SHOWN = 300
"""So much of an event that cannot be understood is shown."""


class StreamProcessor:
    """Turns events into records; `records` collects them until `take`.

    Args:
        config: the source's options.
        filters: what is captured.
        collections: what makes records.
        start: where reading begins.
        signalling: told of changes, and gives its own records; None where only a range is read.
        marker: makes table marks; None where none are wanted.
        give_away: takes events that cannot be decoded, where the pipeline would stop at them; None: it stops.
    """

    def __init__(
        self,
        config: MongoDbConfig,
        filters: Filters,
        collections: Collections,
        start: StreamOffset,
        signalling: Signalling | None = None,
        marker: CollectionMarker | None = None,
        give_away: Callable[[Undecoded], None] | None = None,
    ) -> None:
        self.records: list[Record] = []
        self._marks: list[TableMark] = []
        self._marker = marker
        self._start = start
        self._offset = start
        self._token = start.token
        self._filters = filters
        self._collections = collections
        self._skipped = config.skipped
        self._give_away = give_away
        self._giving = False
        """Whether what is raised is of who takes an event, and not of the event."""
        self._handling = config.event_processing_failure_handling_mode
        self._with_transactions = config.provide_transaction_metadata
        self._known: dict[tuple[str, str], CollectionEvents | None] = {}
        self._failures: Counter[str] = Counter()
        self._fragments: Event | None = None
        self._session: tuple[Any, Session] | None = None
        self._transaction = _resumed(collections, start)
        self._last = token_place(start.token) if start.token is not None and is_event(start.token) else None
        self._newest: Event | None = None
        self._tie = start.tie
        self._signalling = signalling
        self._counts = SourceCounts()
        self._tally: SourceCounts | None = None
        self._changes: defaultdict[tuple[str, str], int] = defaultdict(int)

    def count_in(self, counts: SourceCounts) -> None:
        """From now on counts there; what is frequent only where that is wanted."""
        self._counts = counts
        self._tally = counts if counts.wanted else None

    def process_all(self, events: Sequence[Event]) -> None:
        """Takes the next events.

        Raises:
            DecodeError: one cannot be understood; the message names the place and the collection.
        """
        event: Event = {}
        try:
            for event in events:
                self.process(event)
        except _DAMAGE as error:
            if self._giving:
                raise
            sec, order = self._offset.time
            raise DecodeError(
                f"the change stream behind {sec}:{order}: an event cannot be understood: {reason_of(error)}; it is "
                f"{repr(event)[:_SHOWN]}",
                number="CDC5301",
            ) from error
        if self._tally is not None:
            for kind, number in Counter([event.get("operationType") for event in events]).items():
                if kind in OPERATIONS:
                    self._tally.operations[OPERATIONS[kind]] += number

    def process(self, event: Event) -> None:
        """Takes the next event.

        Raises:
            DecodeError: it cannot be understood; the message names the place and the collection.
        """
        if "splitEvent" in event and not self._is_last_fragment(event):
            return
        token: Token = event["_id"]
        if self._fragments is not None:
            event, self._fragments = {**self._fragments, **event}, None
        operation = OPERATIONS.get(event["operationType"])
        behind = None
        if self._signalling is not None and operation is not None:  # before its document becomes what records show
            name = f"{event['ns']['db']}.{event['ns']['coll']}"
            behind = self._signalling.changed(name, event, token_time(token))
        if operation is None:
            self._notice(event)
            if self._marker is not None and event["operationType"] in MARKED:
                self._marks += self._marker.of_event(event, self._filters, f"{self._prefix(token)}2")
        elif operation not in self._skipped:
            self._change(event, operation, token)
        if behind:
            self.records += behind
        self._token = token

    def _is_last_fragment(self, event: Event) -> bool:
        """Keeps the members of an event that comes in parts until the last part is there."""
        part = event.pop("splitEvent")
        if part["fragment"] == part["of"]:
            return True
        # Fragments have members of one event each, and tokens of their own; a stream can be resumed behind a fragment,
        # but the first part's members are gone then. So the offset stays before the event until it is whole.
        self._fragments = {**(self._fragments or {}), **event}
        return False

    def _change(self, event: Event, operation: str, token: Token) -> None:
        namespace = event["ns"]
        name = (namespace["db"], namespace["coll"])
        made = self._known[name] if name in self._known else self._collection(name)
        if made is None:
            if self._tally is not None:
                self._tally.filtered += 1
                self._tally.operations[operation] -= 1
            return
        prefix = self._prefix(token)
        session = self._session_of(event) if "lsid" in event else None
        block = self._block(made.name, session, prefix, event) if self._with_transactions else None
        try:
            self.records += made.change(event, operation, prefix, session, block)
            self._changes[made.name, operation] += 1
        except _UNSHOWN as error:
            self._failed(error, event, made, prefix)
        self._newest = event

    def _collection(self, name: tuple[str, str]) -> CollectionEvents | None:
        if len(self._known) >= _PASSED_OVER:
            self._known.clear()
        made = self._collections.of(*name) if self._filters.captures(*name) else None
        self._known[name] = made
        return made

    def _prefix(self, token: Token) -> str:
        """What the positions of an event's records begin with."""
        moment, operation = place = token_place(token)
        # Two events may have one place, such as those of two shards at the same moment: they are numbered in the
        # stream's order, which is the same whenever it is read.
        self._tie = self._tie + 1 if place == self._last else 0
        self._last = place
        return stream_position(moment, operation, self._tie)

    # -- transactions

    def _session_of(self, event: Event) -> Session:
        """The event's session; that of the event before is mostly the same."""
        lsid, number = event["lsid"], int(event["txnNumber"])
        if self._session is None or self._session[0] != lsid:
            self._session = (lsid, Session(COMPACT.document(lsid), number))
        session = self._session[1]
        session.number = number
        return session

    def _block(self, collection: str, session: Session | None, prefix: str, event: Event) -> Struct | None:
        """The event's transaction block; ends the transaction before, begins its own."""
        identifier = None if session is None else session.identifier
        time_ms = _time_ms(event)
        transaction = self._transaction
        # Nothing in the stream ends a transaction: the next event of another one does, or of none.
        if transaction is not None and transaction.identifier != identifier:
            self._end(transaction, f"{prefix}0", time_ms)
            transaction = None
        if identifier is None:
            return None
        if transaction is None:
            schemas = self._collections.format.transactions
            self._transaction = transaction = Transaction(
                self._collections.topics.transaction, identifier, schemas=schemas
            )
            self.records.append(transaction.begin(f"{prefix}1", time_ms))
        return next(transaction.blocks(self._collections.format.counted_as(collection)))

    def end_transaction(self) -> None:
        """Ends the transaction in hand, where nothing more of it can come and what comes next is read elsewhere."""
        transaction, start = self._transaction, self._start
        if transaction is None:
            return
        seconds, order = start.moment
        position = stream_position(moment_text((seconds, order + 1)), 0, 0) + "0"
        if self._last is not None:
            position = stream_position(*self._last, self._tie) + "4"
        self._end(transaction, position, self.time_ms or start.sec * 1000)

    def _end(self, transaction: Transaction, position: str, time_ms: int) -> None:
        self.records.append(transaction.end(position, time_ms))
        if self._tally is not None:
            self._tally.transactions += 1
            self._tally.transaction = transaction.identifier
        self._transaction = None

    # -- what makes no record

    def _notice(self, event: Event) -> None:
        kind = event["operationType"]
        if kind == "invalidate":
            log.warning("the change stream's target was dropped or renamed; the stream goes on after that")
            return
        namespace, to = event.get("ns", {}), event.get("to")
        database, collection = namespace.get("db", ""), namespace.get("coll")
        name = database if collection is None else f"{database}.{collection}"
        if to and self._filters.captures(to["db"], to["coll"]):
            log.warning(
                "%s: %s to %s.%s: the documents that came there so, as by $out, and those that went are in no event; "
                "read the collection anew (cdc resnapshot)",
                kind,
                name,
                to["db"],
                to["coll"],
            )
        elif collection is None or self._filters.captures(database, collection):
            log.info("%s: %s%s", kind, name, f" to {to['db']}.{to['coll']}" if to else "")

    def _failed(self, error: Exception, event: Event, made: CollectionEvents, prefix: str) -> None:
        """Stops, gives it away, or counts what the user wants left out; the first of each collection is logged."""
        collection, moment = made.name, token_time(event["_id"])
        reason = str(error) if isinstance(error, DecodeError) else reason_of(error)
        message = f"{moment[0]}:{moment[1]}: an event of {collection} cannot be decoded: {reason}"
        if self._handling == "fail" and self._give_away is not None and not made.hides_fields:
            piece = undecoded(event, made, prefix, message)
            self._giving = True
            self._give_away(piece)
            self._giving = False
            return
        if self._handling == "fail":
            raise DecodeError(
                f"{message}; event.processing.failure.handling.mode=warn leaves such events out"
            ) from error
        self._failures[collection] += 1
        self._counts.skipped[collection] += 1
        if self._failures[collection] == 1 or self._handling == "warn":
            log.warning("%s; left out, %d so far of this collection", message, self._failures[collection])

    # -- what has been done

    def take(self) -> list[Record]:
        """The records since the last call."""
        taken, self.records = self.records, []
        for (collection, operation), number in self._changes.items():
            self._counts.add_changes(collection, {operation: number})
        self._changes.clear()
        if self._tally is not None and taken:
            self._tally.event = taken[-1].position or None
            if self._transaction is not None:
                self._tally.transaction = self._transaction.identifier
        return taken

    def take_marks(self) -> list[TableMark]:
        """The table marks since the last call."""
        taken, self._marks = self._marks, []
        return taken

    @property
    def time_ms(self) -> int | None:
        """When the newest change was made, in milliseconds since 1970."""
        return None if self._newest is None else _time_ms(self._newest)

    @property
    def moment(self) -> Moment:
        """The cluster time of the last batch's end."""
        return self._offset.time

    def offset(self, batch_token: Token, *, complete: bool) -> StreamOffset:
        """Where to go on once all records so far are safe.

        Args:
            batch_token: behind the whole batch.
            complete: whether all events of the batch have been processed.
        """
        # The batch's own token lies further on than its last event: resumed from there, the server need not look again
        # through what was not captured.
        token = batch_token if complete and self._fragments is None else self._token
        sec, order = self._offset.time if token is None else token_time(token)
        transaction = self._transaction
        self._offset = StreamOffset(
            sec=sec,
            ord=order,
            token=token,
            tie=self._tie if self._last is not None and self._last[0] == moment_text((sec, order)) else 0,
            transaction_id=None if transaction is None else transaction.identifier,
            counts={} if transaction is None else dict(transaction.counts),
            incremental=self._start.incremental if self._signalling is None else self._signalling.left,
        )
        return self._offset


def _time_ms(event: Event) -> int:
    """When the server made a change, in milliseconds since 1970."""
    wall = event.get("wallTime")
    made: int = event["clusterTime"].time * 1000 if wall is None else milliseconds_of(wall)
    return made


def _resumed(collections: Collections, start: StreamOffset) -> Transaction | None:
    if start.transaction_id is None:
        return None
    topic, schemas = collections.topics.transaction, collections.format.transactions
    return Transaction(topic, start.transaction_id, start.counts, schemas)
