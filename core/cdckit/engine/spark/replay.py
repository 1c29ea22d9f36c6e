"""Records in quarantine on their way into tables that Spark writes: many in one batch, as each commit takes its time.

A batch is of one table, which takes all of it or nothing. What it refuses is found as in a run, or by halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from cdckit.api.state_store import StateStore
from cdckit.engine.chain import make_chain
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_sink, make_source
from cdckit.engine.quarantine.kept import WAITS, KeptRecords, StaysError
from cdckit.engine.quarantine.places import Quarantine, records_kept
from cdckit.engine.quarantine.store import Quarantined
from cdckit.engine.quarantine.table_delivery import RowError
from cdckit.engine.spark.checkpoints import checkpoints_of
from cdckit.engine.spark.session import start_session
from cdckit.engine.state.made_tables import tables_in
from cdckit.engine.state.replay_batches import ReplayBatches
from cdckit.engine.state.runner_handover import broken_off
from cdckit.engine.table_context import table_context
from cdckit.errors import ConfigError, RetriableSinkError, SinkError
from cdckit.tables.packets import PACKET_SCHEMA, packet_rows
from cdckit.tables.refused import RowsFoundError
from cdckit.tables.sink import Packet, SparkTableSink

MOST = 1000
"""So many records make a batch at the most."""

Told = tuple[Quarantined, str]
"""A record, and why it stays in quarantine; "" where it was delivered."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A record and what becomes of it.

    Attributes:
        record: as it was kept.
        packets: its rows.
    """

    record: Quarantined
    packets: Sequence[Packet]

    @property
    def topics(self) -> tuple[str, ...]:
        """Whose tables it goes to."""
        return tuple(sorted({packet.topic for packet in self.packets}))

    def refused(self, reasons: Mapping[str, str]) -> str:
        """Why a row of it was refused, by the places of such rows; "" where none was."""
        return next((reasons[packet.position] for packet in self.packets if packet.position in reasons), "")


class SparkReplay:
    """One replay, in the order of the log: a table's records, in batches one after the other.

    Args:
        pipeline: what records go through.
        state: its state, held.
        store: its quarantine.
        stack: closes what is opened.

    Raises:
        ConfigError: a run was broken off, whose last batch comes again.
        SinkError: the tables cannot be reached.
    """

    def __init__(self, pipeline: ResolvedPipeline, state: StateStore, store: Quarantine, stack: ExitStack) -> None:
        self._pipeline = pipeline
        self._store = store
        self._kept = KeptRecords(pipeline, state, stack)
        self._chain = make_chain(pipeline.transforms)
        stack.callback(self._chain.close)
        sink = make_sink(pipeline)
        assert isinstance(sink, SparkTableSink)
        self._sink, self._encode = sink, sink.encoder()
        stack.callback(sink.close)
        self._session = start_session(pipeline.name, pipeline.spark, delta=sink.needs_delta)
        if broken_off(state, pipeline.folder, checkpoints_of(pipeline, self._session)):
            # That batch has such records anew once they are no longer in quarantine: tables would have them twice.
            raise ConfigError(
                "the last run was broken off before its last batch was done: let the pipeline run once more (cdc run "
                "FILE --once), then replay",
                number="CDC2402",
            )
        self._batches = ReplayBatches(state)
        marks, made = make_source(pipeline).tells_marks, tables_in(state)
        context = table_context(pipeline, self._batches.generation, state.get, lambda _: None, made, marks=marks)
        sink.open(self._session, replace(context, finds_refused=True, replays=True))
        self._blocked: set[str] = set()
        self._portions: dict[tuple[str, ...], list[_Made]] = {}
        self._again = False

    def run(self, chosen: Callable[[Quarantined], bool]) -> Iterator[Told]:
        """Delivers records; those of a replay that was killed go first, as the batch that they were.

        Args:
            chosen: which.
        """
        begun = frozenset(self._batches.records)
        if begun:
            self._again = True
            yield from self._replayed(lambda record: record.id in begun)
            self._again = False
        yield from self._replayed(chosen)

    def _replayed(self, chosen: Callable[[Quarantined], bool]) -> Iterator[Told]:
        self._blocked.clear()
        gathered = 0
        for record in records_kept(self._pipeline.errors, log_order=True):
            if not chosen(record):
                self._blocked.add(record.key)  # what stays holds up later changes of its key
                continue
            try:
                made = self._made(record)
            except StaysError as error:
                yield self._stays(record, error)
                continue
            self._portions.setdefault(made.topics, []).append(made)
            gathered += 1
            if gathered == MOST:
                yield from self._flushed()
                gathered = 0
        yield from self._flushed()

    def _made(self, record: Quarantined) -> _Made:
        if self._waits(record):
            raise StaysError("wait", "", WAITS)
        content = self._kept.content(record)
        with self._kept.faults(record):
            chain = self._chain.behind(content["behind"]) if "behind" in content else self._chain
            behind = chain.apply(self._kept.records(content, record))
            try:
                return _Made(record, [*self._encode(behind)])
            except SinkError as error:
                raise RowError(str(error)) from error

    def _waits(self, record: Quarantined) -> bool:
        waits = record.stage == "wait" or self._pipeline.errors.waits
        return waits and record.key != "" and record.key in self._blocked

    def _stays(self, record: Quarantined, error: StaysError) -> Told:
        self._blocked.add(record.key)
        self._store.change(record, error.stage, error.by, str(error))
        return record, str(error)

    def _flushed(self) -> Iterator[Told]:
        """Writes what was gathered, table by table; what goes to several tables by itself."""
        portions, self._portions = self._portions, {}
        for topics, made in portions.items():
            step = len(made) if len(topics) == 1 else 1
            for at in range(0, len(made), step):
                yield from self._written(made[at : at + step])

    def _written(self, made: Sequence[_Made]) -> Iterator[Told]:
        """Writes records of one table."""
        due = []
        for one in made:
            if self._waits(one.record):
                yield self._stays(one.record, StaysError("wait", "", WAITS))
            else:
                due.append(one)
        try:
            self._write(due)
        except RetriableSinkError:
            raise
        except SinkError as error:
            yield from self._parted(due, error)
        else:
            # Out of the quarantine only when the tables have it; a kill in between writes the same batch again.
            self._store.remove([one.record.number for one in due])
            self._batches.done()
            yield from ((one.record, "") for one in due)

    def _write(self, made: Sequence[_Made]) -> None:
        packets = [packet for one in made for packet in one.packets]
        if not packets:
            return
        names = [one.record.id for one in made]
        number = self._batches.again(names) if self._again else self._batches.begin(names)
        self._again = False
        self._sink.write(self._session.createDataFrame(packet_rows(packets), PACKET_SCHEMA), number)

    def _parted(self, made: Sequence[_Made], error: SinkError) -> Iterator[Told]:
        """Those of a batch that was refused by themselves, without those at fault."""
        reasons = error.reasons if isinstance(error, RowsFoundError) else {}
        refused = {one.record.id: said for one in made if (said := one.refused(reasons))}
        if len(made) == 1:
            refused = refused or {made[0].record.id: str(error)}
        if not refused:
            half = len(made) // 2
            yield from self._written(made[:half])
            yield from self._written(made[half:])
            return
        sink = self._pipeline.sink.registration.name
        for one in made:
            if one.record.id in refused:
                yield self._stays(one.record, StaysError("write", sink, refused[one.record.id]))
        yield from self._written([one for one in made if one.record.id not in refused])
