"""Records in quarantine once more through the pipeline's chain, serializer and sink, as they are now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any, NamedTuple

from cdckit.api.messages import Messages
from cdckit.api.record import Record
from cdckit.api.sink import Sink
from cdckit.api.source import Source, SourceContext
from cdckit.api.state_store import StateStore
from cdckit.connector.connect_json.reader import JsonReader
from cdckit.engine.chain import StepError
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import Encoder, make_encoder, make_sink, make_source, sink_context
from cdckit.engine.quarantine.contents import (
    MESSAGE,
    PIECE,
    RECORD,
    WITHHELD,
    key_of_message,
    message_in,
    piece_in,
    record_in,
)
from cdckit.engine.quarantine.places import open_quarantine, records_kept
from cdckit.engine.quarantine.store import Quarantined, Stage
from cdckit.engine.quarantine.table_delivery import RowError, TableDelivery
from cdckit.errors import ConfigError, DecodeError, TransformError
from cdckit.tables.direct import DirectTableSink

_NOTHING_KEPT = (
    "its key and value were withheld, as transform '{}' conceals some of them: have its table read again (cdc signal), "
    "and drop it; a transform that fails behind that one has its records kept"
)


class Replayed(NamedTuple):
    """A record that was to be delivered, and why it stays in quarantine; "" where it was delivered."""

    record: Quarantined
    reason: str


class _StaysError(Exception):
    """A record stays in quarantine."""

    def __init__(self, stage: Stage, by: str, reason: str) -> None:
        super().__init__(reason)
        self.stage: Stage = stage
        self.by = by


def replay(pipeline: ResolvedPipeline, state: StateStore, chosen: Callable[[Quarantined], bool]) -> Iterator[Replayed]:
    """Delivers records, one after another in the order in which they came, and takes each out of the quarantine.

    Args:
        pipeline: what they go through.
        state: its state.
        chosen: which records.

    Raises:
        ConfigError: the sink keeps tables, or the offset.
        SinkError: the sink cannot take anything.
        SourceError: the source has to be asked about what it could not decode, and cannot be reached.
        StateError: the quarantine cannot be read or written.
    """
    with ExitStack() as stack:
        store = open_quarantine(pipeline.errors)
        stack.callback(store.close)
        delivery = _Delivery(pipeline, state, stack)
        blocked: set[str] = set()
        for record in records_kept(pipeline.errors):
            waits = record.stage == "wait" or pipeline.errors.later_changes == "wait"
            # What stays holds up later changes of its key, also where it was not to be tried: else an older row would
            # come last.
            if not chosen(record):
                blocked.add(record.key)
                continue
            try:
                delivery.deliver(record, (blocked if waits else set()) - {""})
            except _StaysError as error:
                blocked.add(record.key)
                store.change(record, error.stage, error.by, str(error))
                yield Replayed(record, str(error))
            else:
                # Out of the quarantine only when the sink has it: a crash in between delivers it twice.
                store.remove([record.number])
                yield Replayed(record, "")


class _Delivery:
    """The pipeline's chain, serializer and sink; its source for what that could not decode."""

    def __init__(self, pipeline: ResolvedPipeline, state: StateStore, stack: ExitStack) -> None:
        self._names = pipeline.serializer.registration.name, pipeline.sink.registration.name
        self._pipeline = pipeline
        self._state = state
        self._stack = stack
        self._reader = JsonReader()
        self._encode: Encoder = make_encoder(pipeline)
        stack.callback(self._encode.close)
        sink = make_sink(pipeline)
        if isinstance(sink, DirectTableSink):
            self._tables: TableDelivery | None = TableDelivery(pipeline, state, sink, stack)
            return
        self._tables = None
        if not isinstance(sink, Sink):
            raise ConfigError(
                f"sink.type: '{self._names[1]}' keeps tables through Spark, which a replay does without; the sink "
                "'delta' writes the same tables (--runner direct --set sink.type=delta), or have rows read again "
                "(cdc signal) and drop these",
                number="CDC2401",
            )
        if sink.transactions is not None:
            raise ConfigError(
                f"sink: the transactions of '{self._names[1]}' carry the pipeline's offset, and a replay has none: "
                "have it deliver at least once here (kafka: --set sink.delivery.guarantee=at-least-once)",
                number="CDC2402",
            )
        self._sink = sink
        self._refusals: list[str] = []
        stack.callback(sink.close)
        context = sink_context(pipeline.name, self._encode.serializer, once=True, refused=self._refused)
        sink.open(context)

    def _refused(self, message: Messages, reason: str) -> None:
        self._refusals.append(reason)

    def deliver(self, record: Quarantined, blocked: set[str]) -> None:
        """Returns once the record is safe in the sink.

        Args:
            record: what is delivered.
            blocked: the keys of earlier records that stay.

        Raises:
            _StaysError: it cannot be, or has to wait.
        """
        if record.key in blocked:
            raise _StaysError("wait", "", "an earlier change of its key is in quarantine")
        if self._tables is not None:
            self._to_tables(record, self._tables)
            return
        messages = self._messages(record)
        # The chain may give messages other keys than the record had; order is that of what the sink is given.
        if blocked & {key_of_message(*where) for where in zip(messages.topics, messages.keys, strict=True)}:
            raise _StaysError("wait", "", "an earlier message of its key is in quarantine")
        self._refusals.clear()
        self._sink.write(messages)
        self._sink.flush()
        if self._refusals:
            raise _StaysError("write", self._names[1], self._refusals[0])

    def _to_tables(self, record: Quarantined, tables: TableDelivery) -> None:
        content, chain = self._content(record), self._encode.chain
        with self._faults(record):
            left = chain.behind(content["behind"]) if "behind" in content else chain
            tables.deliver(self._records(content, record), left)

    def _messages(self, record: Quarantined) -> Messages:
        content = self._content(record)
        with self._faults(record):
            if content["form"] == MESSAGE:
                return message_in(content, record.position)
            encode = self._encode_behind(content["behind"]) if "behind" in content else self._encode
            return encode(self._records(content, record))

    def _content(self, record: Quarantined) -> dict[str, Any]:
        with self._faults(record):
            content: dict[str, Any] = json.loads(record.content)
            form = content["form"]
        if form == WITHHELD:
            raise _StaysError(record.stage, record.by, _NOTHING_KEPT.format(content.get("behind")))
        if form not in (MESSAGE, RECORD, PIECE):
            raise _StaysError(record.stage, record.by, "it did not fit its schemas, and only a text was kept of it")
        return content

    def _records(self, content: dict[str, Any], record: Quarantined) -> Sequence[Record]:
        if content["form"] == PIECE:
            return self._decoded(content, record)
        return [record_in(content, record.position, self._reader)]

    @contextmanager
    def _faults(self, record: Quarantined) -> Iterator[None]:
        """What fails on a record keeps it where it is."""
        try:
            yield
        except StepError as error:
            raise _StaysError("transform", error.step, str(error)) from error
        except TransformError as error:
            raise _StaysError("serialize", self._names[0], str(error)) from error
        except RowError as error:
            raise _StaysError("write", self._names[1], str(error)) from error
        except (DecodeError, ValueError, KeyError, TypeError) as error:
            raise _StaysError(record.stage, record.by, f"what was kept of it cannot be read: {error}") from error

    def _encode_behind(self, name: str) -> Encoder:
        chain, serializer = self._encode.chain.behind(name), self._encode.serializer
        return Encoder(chain, serializer, position_header=self._encode.position_header)

    def _decoded(self, content: dict[str, Any], record: Quarantined) -> Sequence[Record]:
        piece = piece_in(content, record.position, record.reason)
        try:
            return self._source.decoded(piece)
        except DecodeError as error:
            raise _StaysError("decode", self._pipeline.source.registration.name, str(error)) from error

    @cached_property
    def _source(self) -> Source:
        source = make_source(self._pipeline)
        self._stack.callback(source.close)
        source.open(SourceContext(self._pipeline.name, self._state))
        return source
