"""An encoder and a sink that pass over what cannot be delivered; without a fault they do as those that they wrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import NamedTuple, Protocol

from cdckit.api.messages import Messages
from cdckit.api.record import Record
from cdckit.api.sink import QueueFill, Sink, SinkContext, Transactions
from cdckit.api.state_store import Json
from cdckit.api.undecoded import Undecoded
from cdckit.engine.blame import naming_the_plugin
from cdckit.engine.chain import StepError
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.metrics.fault_counts import FaultCounts
from cdckit.engine.pipeline import Encoder
from cdckit.engine.quarantine.entries import Entries
from cdckit.engine.quarantine.faulty import FaultyRecords
from cdckit.engine.quarantine.held_back import HeldBack
from cdckit.engine.quarantine.places import open_quarantine
from cdckit.engine.quarantine.store import Stage
from cdckit.errors import CdcError, RetriableSinkError, SinkError, TransformError


class Faults(Protocol):
    """Takes records that cannot be encoded; see `FaultyRecords`."""

    waiting: dict[str, str]

    def record_failed(self, record: Record, stage: Stage, by: str, error: TransformError) -> None:
        """Takes a record as the source gave it."""

    def due(self, records: list[Record]) -> list[Record]:
        """The records that do not wait."""

    def seen(self, records: int) -> None:
        """Notes how many records have come."""


class TolerantEncoder(Encoder):
    """Encodes batches; one that fails is halved until the records at fault are found.

    Args:
        encoder: what encodes.
        faulty: takes the records that cannot be.
        serializer: what the serializer is called.
    """

    def __init__(self, encoder: Encoder, faulty: Faults, serializer: str) -> None:
        super().__init__(encoder.chain, encoder.serializer, position_header=encoder.position_header)
        self._faulty = faulty
        self._serializer_name = serializer

    def __call__(self, records: Sequence[Record]) -> Messages:
        """The messages of those records that can be encoded.

        Raises:
            TransformError: too many cannot.
        """
        messages = self._encoded(records)
        self._faulty.seen(len(records))
        return messages

    def _encoded(self, records: Sequence[Record]) -> Messages:
        if self._faulty.waiting:
            records = self._faulty.due(list(records))
        try:
            return super().__call__(records)
        except Exception as error:
            if isinstance(error, CdcError) and not isinstance(error, TransformError):
                raise
            if len(records) == 1:
                self._failed(records[0], error)
                return Messages.joined([])
        half = len(records) // 2
        return Messages.joined([self._encoded(records[:half]), self._encoded(records[half:])])

    def _failed(self, record: Record, error: Exception) -> None:
        if isinstance(error, StepError):
            self._faulty.record_failed(record, "transform", error.step, error)
        else:
            fault = error if isinstance(error, TransformError) else TransformError(naming_the_plugin(error))
            self._faulty.record_failed(record, "serialize", self._serializer_name, fault)


class RefusedMessages(Protocol):
    """Takes messages that the sink's target will never take; see `FaultyRecords`."""

    waiting: dict[str, str]

    def message_failed(self, message: Messages, reason: str) -> None:
        """Takes one message."""

    def due_messages(self, messages: Messages) -> Messages:
        """The messages that do not wait."""

    def sync(self) -> None:
        """Returns once what was taken is safe."""


def _with_each_key_once(messages: Messages) -> Iterator[Messages]:
    """The messages in their order, in parts that have no key twice; one without a key never waits."""
    start, seen = 0, set[tuple[str, bytes]]()
    for at, (topic, key) in enumerate(zip(messages.topics, messages.keys, strict=True)):
        if key is None:
            continue
        if (topic, key) in seen:
            yield messages.part(start, at)
            start, seen = at, set()
        seen.add((topic, key))
    yield messages.part(start, len(messages)) if start else messages


class TolerantSink(Sink):
    """Writes messages; those that the target will never take go where faulty records go.

    Args:
        sink: what writes.
        faulty: takes what it cannot.
        waits: whether later changes wait for those of their keys that it has taken.
    """

    def __init__(self, sink: Sink, faulty: RefusedMessages, *, waits: bool = False) -> None:
        self._sink = sink
        self._faulty = faulty
        self._waits = waits
        inner = sink.transactions
        self._transactions = None if inner is None else TolerantTransactions(inner, self)
        self._held = HeldBack()

    @property
    def transactions(self) -> TolerantTransactions | None:
        """The sink's, each of which ends once what it lacks is safe."""
        return self._transactions

    def open(self, context: SinkContext) -> None:
        """Opens the sink, and takes what it refuses for faulty records."""
        self._sink.open(replace(context, refused=self._refused))

    def _refused(self, message: Messages, reason: str) -> None:
        if self._transactions is not None:
            self._held.refused(message, reason)
        self._faulty.message_failed(message, reason)

    def write(self, messages: Messages) -> None:
        """Writes what does not wait, and was not refused in a transaction that came to nothing for that."""
        # What the client refuses is known behind a call: the next message of its key comes with another one.
        for part in _with_each_key_once(messages) if self._waits else (messages,):
            self._write(part)

    def _write(self, messages: Messages) -> None:
        if self._faulty.waiting:
            messages = self._faulty.due_messages(messages)
        if self._held:
            messages, others = self._held.parted(messages)
            for message, reason in others:
                self._faulty.message_failed(message, reason)
        with self.excused():
            self._sink.write(messages)

    def flush(self) -> None:
        """Returns once everything is safe: in the target, or where faulty records are."""
        with self.excused():
            self._sink.flush()
        self._faulty.sync()

    @contextmanager
    def excused(self) -> Iterator[None]:
        """A transaction fails as a whole for a message that the broker refuses: it is written again without that.

        Raises:
            RetriableSinkError: that is so.
        """
        try:
            yield
        except SinkError as error:
            if not self._held.fails:
                raise
            said = "a transaction failed for a record that the sink's target refuses; the others are written again"
            raise RetriableSinkError(said) from error

    def committed(self) -> None:
        """The transaction is over, and its messages never come again."""
        self._held.committed()

    def rolled_back(self) -> None:
        """The transaction's messages come once more, but for those that were refused."""
        self._faulty.sync()
        self._held.rolled_back()

    def queue_fill(self) -> QueueFill | None:
        """How full the sink's own queue is."""
        return self._sink.queue_fill()

    def close(self) -> None:
        """Closes the sink."""
        self._sink.close()


class TolerantTransactions(Transactions):
    """A sink's transactions, each of which ends once the records that it lacks are safe.

    Args:
        transactions: the sink's own.
        sink: what writes.
    """

    def __init__(self, transactions: Transactions, sink: TolerantSink) -> None:
        self._transactions = transactions
        self._sink = sink

    @property
    def interval_ms(self) -> int | None:
        """The sink's own."""
        return self._transactions.interval_ms

    def committed(self) -> Json:
        """The sink's own."""
        return self._transactions.committed()

    def commit(self, place: Json) -> None:
        """Commits, once what is lacking is safe."""
        self._sink.flush()
        with self._sink.excused():
            self._transactions.commit(place)
        self._sink.committed()

    def rollback(self) -> Json:
        """As the sink's own."""
        place = self._transactions.rollback()
        self._sink.rolled_back()
        return place


class Tolerant(NamedTuple):
    """What does with faulty records as the pipeline's options say.

    Attributes:
        encode: the encoder.
        sink: the sink.
        undecoded: takes what the source cannot decode; None: it is to stop the pipeline.
    """

    encode: Encoder
    sink: Sink
    undecoded: Callable[[Undecoded], None] | None = None


def tolerant(
    pipeline: ResolvedPipeline, encode: Encoder, sink: Sink, counts: FaultCounts, stack: ExitStack
) -> Tolerant:
    """What the direct runner delivers through.

    Args:
        pipeline: its state is held.
        encode: the pipeline's.
        sink: the pipeline's, not yet opened.
        counts: kept in step.
        stack: closes the quarantine.

    Raises:
        StateError: the quarantine cannot be opened.
    """
    errors = pipeline.errors
    if errors.tolerance == "none":
        return Tolerant(encode, sink)
    store = None
    if errors.tolerance == "quarantine":
        store = open_quarantine(errors)
        stack.callback(store.close)
    faulty = FaultyRecords(errors, store, counts, Entries.of(pipeline, encode.chain))
    return Tolerant(
        TolerantEncoder(encode, faulty, pipeline.serializer.registration.name),
        TolerantSink(sink, faulty, waits=errors.waits),
        faulty.undecoded if errors.keeps_undecoded else None,
    )
