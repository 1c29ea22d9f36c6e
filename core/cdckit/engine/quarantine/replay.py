"""Records in quarantine once more through the pipeline's chain, serializer and sink, as they are now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

from cdckit.api.messages import Messages
from cdckit.api.sink import Sink
from cdckit.api.state_store import StateStore
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import Encoder, make_encoder, make_sink, sink_context
from cdckit.engine.quarantine.contents import MESSAGE, key_of_message, message_in
from cdckit.engine.quarantine.kept import WAITS, KeptRecords, StaysError
from cdckit.engine.quarantine.places import Quarantine, open_quarantine, records_kept
from cdckit.engine.quarantine.store import Quarantined
from cdckit.engine.quarantine.table_delivery import TableDelivery
from cdckit.errors import ConfigError
from cdckit.tables.direct import DirectTableSink
from cdckit.tables.sink import SparkTableSink

Chosen = Callable[[Quarantined], bool]
"""Which records are to be delivered."""


class Replayed(NamedTuple):
    """A record that was to be delivered, and why it stays in quarantine; "" where it was delivered."""

    record: Quarantined
    reason: str


def replay(pipeline: ResolvedPipeline, state: StateStore, chosen: Chosen) -> Iterator[Replayed]:
    """Delivers records in the order of the log, and takes each out of the quarantine.

    That is the order of their positions; those without one, and of topics whose positions tell none, come as they came.

    Args:
        pipeline: what they go through.
        state: its state.
        chosen: which records.

    Raises:
        ConfigError: the sink keeps the offset, or a run was broken off while it wrote tables.
        SinkError: the sink cannot take anything.
        SourceError: the source has to be asked about what it could not decode, and cannot be reached.
        StateError: the quarantine cannot be read or written.
    """
    with ExitStack() as stack:
        store = open_quarantine(pipeline.errors)
        stack.callback(store.close)
        if isinstance(make_sink(pipeline), SparkTableSink):
            from cdckit.engine.spark.replay import SparkReplay  # noqa: PLC0415 - the extra need not be there

            for record, reason in SparkReplay(pipeline, state, store, stack).run(chosen):
                yield Replayed(record, reason)
            return
        yield from _one_by_one(pipeline, store, chosen, _Delivery(pipeline, state, stack))


def _one_by_one(
    pipeline: ResolvedPipeline, store: Quarantine, chosen: Chosen, delivery: _Delivery
) -> Iterator[Replayed]:
    blocked: set[str] = set()
    for record in records_kept(pipeline.errors, log_order=True):
        waits = record.stage == "wait" or pipeline.errors.later_changes == "wait"
        # What stays holds up later changes of its key, also where it was not to be tried: else an older row would
        # come last.
        if not chosen(record):
            blocked.add(record.key)
            continue
        try:
            delivery.deliver(record, (blocked if waits else set()) - {""})
        except StaysError as error:
            blocked.add(record.key)
            store.change(record, error.stage, error.by, str(error))
            yield Replayed(record, str(error))
        else:
            # Out of the quarantine only when the sink has it: a crash in between delivers it twice.
            store.remove([record.number])
            yield Replayed(record, "")


class _Delivery:
    """The pipeline's chain, serializer and sink."""

    def __init__(self, pipeline: ResolvedPipeline, state: StateStore, stack: ExitStack) -> None:
        self._name = pipeline.sink.registration.name
        self._kept = KeptRecords(pipeline, state, stack)
        self._encode: Encoder = make_encoder(pipeline)
        stack.callback(self._encode.close)
        sink = make_sink(pipeline)
        if isinstance(sink, DirectTableSink):
            self._tables: TableDelivery | None = TableDelivery(pipeline, state, sink, stack)
            return
        self._tables = None
        if not isinstance(sink, Sink):
            raise ConfigError(f"sink.type: '{self._name}' takes no single records", number="CDC2401")
        if sink.transactions is not None:
            raise ConfigError(
                f"sink: the transactions of '{self._name}' carry the pipeline's offset, and a replay has none: "
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
            StaysError: it cannot be, or has to wait.
        """
        if record.key in blocked:
            raise StaysError("wait", "", WAITS)
        if self._tables is not None:
            self._to_tables(record, self._tables)
            return
        messages = self._messages(record)
        # The chain may give messages other keys than the record had; order is that of what the sink is given.
        if blocked & {key_of_message(*where) for where in zip(messages.topics, messages.keys, strict=True)}:
            raise StaysError("wait", "", "an earlier message of its key is in quarantine")
        self._refusals.clear()
        self._sink.write(messages)
        self._sink.flush()
        if self._refusals:
            raise StaysError("write", self._name, self._refusals[0])

    def _to_tables(self, record: Quarantined, tables: TableDelivery) -> None:
        content, chain = self._kept.content(record), self._encode.chain
        with self._kept.faults(record):
            left = chain.behind(content["behind"]) if "behind" in content else chain
            tables.deliver(self._kept.records(content, record), left)

    def _messages(self, record: Quarantined) -> Messages:
        content = self._kept.content(record)
        with self._kept.faults(record):
            if content["form"] == MESSAGE:
                return message_in(content, record.position)
            encode = self._encode_behind(content["behind"]) if "behind" in content else self._encode
            return encode(self._kept.records(content, record))

    def _encode_behind(self, name: str) -> Encoder:
        chain, serializer = self._encode.chain.behind(name), self._encode.serializer
        return Encoder(chain, serializer, position_header=self._encode.position_header)
