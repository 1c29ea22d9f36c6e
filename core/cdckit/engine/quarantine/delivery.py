"""An encoder and a sink that pass over what cannot be delivered; without a fault they do as those that they wrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple, Protocol

from cdckit.api.messages import Messages
from cdckit.api.record import Record
from cdckit.api.sink import QueueFill, Sink, SinkContext
from cdckit.api.undecoded import Undecoded
from cdckit.engine.blame import naming_the_plugin
from cdckit.engine.chain import StepError
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.metrics.fault_counts import FaultCounts
from cdckit.engine.pipeline import Encoder
from cdckit.engine.quarantine.entries import Entries
from cdckit.engine.quarantine.faulty import FaultyRecords
from cdckit.engine.quarantine.store import QuarantineStore, Stage
from cdckit.errors import CdcError, ConfigError, TransformError


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


class TolerantSink(Sink):
    """Writes messages; those that the target will never take go where faulty records go.

    Args:
        sink: what writes.
        faulty: takes what it cannot.
    """

    def __init__(self, sink: Sink, faulty: FaultyRecords) -> None:
        self._sink = sink
        self._faulty = faulty

    def open(self, context: SinkContext) -> None:
        """Opens the sink, and takes what it refuses for faulty records."""
        self._sink.open(replace(context, refused=self._faulty.message_failed))

    def write(self, messages: Messages) -> None:
        """Writes what does not wait."""
        self._sink.write(self._faulty.due_messages(messages) if self._faulty.waiting else messages)

    def flush(self) -> None:
        """Returns once everything is safe: in the target, or where faulty records are."""
        self._sink.flush()
        self._faulty.sync()

    def queue_fill(self) -> QueueFill | None:
        """How full the sink's own queue is."""
        return self._sink.queue_fill()

    def close(self) -> None:
        """Closes the sink."""
        self._sink.close()


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
        ConfigError: the sink delivers by transactions.
        StateError: the quarantine cannot be opened.
    """
    errors = pipeline.errors
    if errors.tolerance == "none":
        return Tolerant(encode, sink)
    if sink.transactions is not None:
        raise ConfigError(
            "errors.tolerance: the sink's transactions take all of a batch or nothing: set it to none", number="CDC2402"
        )
    store = None
    if errors.tolerance == "quarantine":
        assert errors.folder is not None  # such a pipeline is given one
        store = QuarantineStore(errors.folder)
        stack.callback(store.close)
    faulty = FaultyRecords(errors, store, counts, Entries.of(pipeline))
    return Tolerant(
        TolerantEncoder(encode, faulty, pipeline.serializer.registration.name),
        TolerantSink(sink, faulty),
        faulty.undecoded if errors.keeps_undecoded else None,
    )
