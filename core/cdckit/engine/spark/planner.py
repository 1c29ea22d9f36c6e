"""The planner's side: which offsets a batch spans, and which splits lie between them. It runs beside the driver."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cdckit.api.notices import Notices
from cdckit.api.record import Offset, Record
from cdckit.api.source import Source, SourceContext, Split
from cdckit.api.source_counts import SourceCounts
from cdckit.api.state_store import StateStore
from cdckit.api.undecoded import Undecoded
from cdckit.connector.options.events import EventOptions
from cdckit.connector.signals.inbox import FOLDER as SIGNALS
from cdckit.engine.chain import make_chain
from cdckit.engine.notices import RunNotices
from cdckit.engine.pipeline import make_source
from cdckit.engine.runners.garbage import spare_collections
from cdckit.engine.spark.bounds import begin_at
from cdckit.engine.spark.in_order import LogInOrder
from cdckit.engine.spark.job import MAX_BYTES, MOST_BYTES, SPLIT_BYTES, Job
from cdckit.engine.spark.kept_batches import FOLDER as KEPT, MEMBER, KeptBatches, name_of, plain
from cdckit.engine.spark.kept_parts import Part
from cdckit.engine.spark.notices import PlannedBatch, ProcessNotices
from cdckit.engine.spark.partitions import SplitPartition, numbered
from cdckit.engine.spark.relay import driver_of, relayed
from cdckit.engine.spark.sent_signals import SentSignals
from cdckit.engine.spark.snapshot_notifications import ASKED as NOTIFICATIONS
from cdckit.engine.spark.table_shape import DefinitionWatch
from cdckit.engine.spark.timed_batches import ASKED as DELIVERED, TimedBatches
from cdckit.engine.state.copies import number_copy
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import open_for_planner
from cdckit.errors import StateError

SPOOL = "spool"
"""The folder in a pipeline's own where its source keeps what it has read ahead of the workers."""
_IDLE_SECONDS = 0.1
"""How often a still log is looked away from where the planner reads it in order: a batch that has begun ends then."""
_AT_END = {"cdckit_lag_bytes": 0, "cdckit_lag_seconds": 0.0, "cdckit_rows_left": False}
"""What a query's progress tells where the log has nothing more."""


class Plan(NamedTuple):
    """How a batch is read.

    Attributes:
        splits: its parts.
        buckets: how many shares of the keys there are, where several splits are read together; 0: none.
    """

    splits: Sequence[Split]
    buckets: int


class Planner:
    """Holds the pipeline's state and an open source. Everything is opened when it is first needed.

    Attributes:
        newest: where the log ended when that was last asked; None before.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self._store: StateStore | None = None
        self._copied = 0
        self._source: Source | None = None
        self._ends = job.ends
        self._at_end = False
        self._first = True
        self._answered = False
        self._target: Offset | None = None
        self._planned: PlannedBatch | None = None
        self._watch: DefinitionWatch | None = None
        self._timed = TimedBatches(job.batch_seconds)
        self._last: tuple[Offset, int, bool] | None = None
        self._counts = SourceCounts(wanted=job.measured)
        self._kept = KeptBatches((job.pipeline.folder / KEPT).absolute())
        self._in_order: LogInOrder | None = None
        self._beside_log = False
        self._figures: dict[str, Any] = {}
        self.newest: Offset | None = None

    def end_at_log_end(self) -> None:
        """The query is to end at the log's end."""
        self._ends = True

    def initial_offset(self) -> Offset:
        """Where a query without a checkpoint begins: where it is to, at the saved offset, or where the source says."""
        if self.job.begin is not None:
            return begin_at(self.source, self.job.begin)
        saved = self.store.load_offset()
        return saved if saved is not None else self.source.initial_offset()

    def latest_offset(self, start: Offset, max_bytes: int | None) -> Offset:
        """The end of the next batch; `start` itself when nothing came within the job's `wait_seconds`.

        The first answer is not waited for, so that the driver knows at once that the source is there.
        """
        self._time_last(start)
        # By turns: what is due all the time would keep the log from being read.
        records = () if self._beside_log else self._besides(start)
        self._beside_log = bool(records)
        if records:
            return self._alone(start, records)
        if self.job.in_order and self.source.snapshot_point(plain(start)) is None:
            return self._read_in_order(start, max_bytes)
        end = self._planned_end(plain(start), max_bytes)
        return start if end == plain(start) else end

    def _time_last(self, start: Offset) -> None:
        """Spark asks for what comes behind a batch: that is delivered."""
        last, self._last = self._last, None
        if last is None or last[0] != start or not self.job.batch_seconds:
            return
        driver = driver_of(self.job)
        if driver is not None:
            self._timed.took(last[1], driver.ask(DELIVERED), whole=last[2])

    def _besides(self, start: Offset) -> Sequence[Record]:
        """What is due and has no place in the log; of a query that ends, no heartbeats."""
        beats = self.source.besides() if self.job.besides and not (self.job.in_order or self._ends) else ()
        driver = driver_of(self.job) if self.job.in_order else None
        return [*beats, *(() if driver is None else driver.ask(NOTIFICATIONS, start))]

    def _alone(self, start: Offset, records: Sequence[Record]) -> Offset:
        """A batch of these records and of nothing of the log."""
        with self._kept.writer() as writer:
            writer.add(Part(records, (), 0))
            writer.passes()
            writer.finish()
        self._kept.forget_all_but({writer.name, name_of(start)})
        end = {**plain(start), MEMBER: writer.name}
        self._planned = self._batch(end, None, 0)
        return end

    def _planned_end(self, start: Offset, max_bytes: int | None) -> Offset:
        # Spark asks again as soon as it is answered, and each round costs it tens of milliseconds: so the answer waits
        # for the log to move, or an idle pipeline would keep a core busy.
        wait_seconds = self._wait_seconds()
        end = self._log_end(start) if self._ends else self.source.latest_offset(start, wait_seconds)
        self._answered = True
        self.newest = end
        if end == start:
            if not self._ends:
                self._figures = _AT_END
            self._tell_idle()
            return end
        seen_ms = time.time_ns() // 1_000_000
        cut = end if max_bytes is None else self.source.cut(start, end, self._log_bytes(start, max_bytes))
        self._copy()
        size, lag_bytes = self._bytes(start, cut)
        self._planned = self._batch(cut, seen_ms if cut == end else self.source.time_ms(cut), size)
        self._figures = _figures(self._planned, seen_ms, lag_bytes)
        self._last = cut, size, cut == end
        return cut

    def _read_in_order(self, start: Offset, max_bytes: int | None) -> Offset:
        """Where the batch ends that is read now, in order, and kept for the workers; `start` where nothing came."""
        reader = self._reader()
        # Spark asks for what comes next: all before that is in the sink. Of the last batch it says so in no other way.
        self.source.committed(plain(start))
        if self._ends and reader.finished:
            self._target = start
            self._tell_idle()
            return start
        size = self._timed.size(self._batch_bytes(max_bytes or MAX_BYTES))
        found = reader.read(start, size, self._wait_seconds(), once=self._ends)
        while found is None and self._ends and not reader.finished:
            # Told that nothing came, Spark would end the query, whatever snapshots there are to finish.
            found = reader.read(start, size, self._wait_seconds(), once=True)
        self._answered = True
        if counts := self._counts.take():
            self._notices.counted(counts)
        if found is None:
            self._target = start if self._ends and reader.finished else None
            self._tell_idle()
            return start
        self._copy()
        self.newest = found.end
        self._planned = PlannedBatch(found.end, found.log_time_ms, found.log_bytes)
        self._figures = _figures(self._planned, time.time_ns() // 1_000_000, None)
        self._last = found.end, found.log_bytes, found.log_bytes < size
        return found.end

    def _wait_seconds(self) -> float:
        """How long to wait for a change: not beyond the next heartbeat."""
        config, wait_seconds = self.job.pipeline.source.config, self.job.wait_seconds if self._answered else 0.0
        if not (isinstance(config, EventOptions) and self.job.besides and config.heartbeat_interval_ms):
            return wait_seconds
        return min(wait_seconds, config.heartbeat_interval_ms / 1000)

    def _reader(self) -> LogInOrder:
        source = self.source
        if self._in_order is None:
            self._in_order = LogInOrder(source, self._kept, SentSignals(self.job).fetch)
        return self._in_order

    def _pass_over(self, piece: Undecoded) -> None:
        """What cannot be decoded: whoever reads it hands it over, which is not who looks ahead."""
        if self._in_order is not None:
            self._in_order.passed_over(piece)

    def _batch(self, end: Offset, time_ms: int | None, size: int) -> PlannedBatch:
        return PlannedBatch(end, time_ms, size, rows_left=self.source.owes_rows(end))

    def _tell_idle(self) -> None:
        self._notices.idle()
        # Spark may run an empty batch with the first answer, and asks once more when that is done.
        if self._target is not None and self._at_end:
            self._notices.ended()
        self._at_end = self._target is not None

    def _log_bytes(self, start: Offset, least: int) -> int:
        """The same by how long a batch is to take, where a log follows: the batches of a snapshot are not measured."""
        most = self._batch_bytes(least)
        measured = self.job.batch_seconds and self.source.lag_bytes(start) is not None
        return self._timed.size(most) if measured else most

    def _batch_bytes(self, least: int) -> int:
        """How much of the log a batch takes: that many workers have work for longer than a task takes to begin."""
        if not self.job.grows:
            return least
        return max(least, min(MOST_BYTES, SPLIT_BYTES * self._parallelism()))

    def _bytes(self, start: Offset, end: Offset) -> tuple[int, int | None]:
        """About how much of the log lies between two offsets, as the source tells it, and how much behind them."""
        whole, rest = self.source.lag_bytes(start), self.source.lag_bytes(end)
        return 0 if whole is None or rest is None else max(0, whole - rest), rest

    def _log_end(self, start: Offset) -> Offset:
        """The log's end that counts: the first batch may hold the snapshot, so it is the one found after it.

        Where tables are to be read again, it is the one found after those.
        """
        if self._target is not None:
            return self._target
        owed = self.source.owes_rows(start)
        end = self.source.latest_offset(start)
        if not owed and (not self._first or end == start):
            self._target = end
        self._first = False
        return end

    def reported(self) -> Offset | None:
        """`newest`, with figures of the batch that was planned last, for the query's progress. It asks nobody."""
        return None if self.newest is None else {**self.newest, **self._figures}

    def splits(self, start: Offset, end: Offset) -> Plan:
        """The splits of a batch; of one that is repeated after a restart little else is known."""
        # Behind a restart Spark plans the batch that it has noted, without asking for its end.
        known, self._planned = self._planned, None
        batch = known if known is not None and known.end == end else self._batch(end, self.source.time_ms(end), 0)
        self._notices.planned(batch)
        kept = None if start == end else self._kept.of(end)
        if kept is not None:
            return Plan([Split(plain(start), plain(end), kept)], 0)
        parallelism = self._parallelism()
        splits = self.source.plan(plain(start), plain(end), parallelism)
        if self._watch is not None:
            self._watch.require_same(self.source, lambda: make_chain(self.job.pipeline.transforms))
        self._copy()
        return Plan(splits, 0 if self.job.task_sink is None else parallelism)

    def told(self, end: Offset, partitions: Sequence[SplitPartition]) -> None:
        """Tells the driver, where it keeps a ledger, which tasks read a batch.

        Raises:
            StateError: it cannot be reached.
        """
        if self.job.ledger is None:
            return
        driver = driver_of(self.job)
        if driver is None:
            raise StateError("the ledger cannot be kept: the driver cannot be reached")
        driver.ask("ledger", numbered(partitions), end, len(partitions))

    def _copy(self) -> None:
        """Has the driver copy the state where it has changed: nothing is planned that a copy does not know of."""
        # Before Spark notes the offset: a copy that lacked definitions behind it would be restored to a state that
        # cannot read on.
        if self.job.copied and self._store is not None and self._store.changes != self._copied:
            number_copy(self._store)
            driver = driver_of(self.job)
            if driver is None:
                raise StateError("the state cannot be copied: the driver cannot be reached")
            driver.ask("copy")
            self._copied = self._store.changes

    def _parallelism(self) -> int:
        """How many splits may be read at the same time now."""
        driver = driver_of(self.job)
        return self.job.parallelism if driver is None else int(driver.ask("parallelism"))

    def committed(self, offset: Offset) -> None:
        """Everything up to `offset` is in the sink."""
        self.source.committed(plain(offset))
        if self.job.saves:
            self.store.save_offset(offset)

    @property
    def _passes_over(self) -> bool:
        return self.job.faults is not None and self.job.pipeline.errors.keeps_undecoded

    @property
    def store(self) -> StateStore:
        """The pipeline's state, held until `close`."""
        if self._store is None:
            self._store = open_for_planner(StatePlace.of(self.job.pipeline), self.job.generation)
        return self._store

    @property
    def source(self) -> Source:
        """The source, open."""
        if self._source is None:
            source = make_source(self.job.pipeline)
            spare_collections()
            name = self.job.pipeline.name
            notices: Notices = relayed(self.job) or RunNotices(name)
            if self.job.shape is not None:
                notices = self._watch = DefinitionWatch(notices, self.job.shape)
            source.open(
                SourceContext(
                    name,
                    self.store,
                    notices,
                    stopping=_orphaned(),
                    counts=self._counts,
                    idle_seconds=_IDLE_SECONDS,
                    inbox=self.job.pipeline.folder / SIGNALS if self.job.in_order else None,
                    starts=self.job.starts,
                    marks=self.job.marks,
                    undecoded=self._pass_over if self._passes_over else None,
                    bytes_per_second=self.job.pipeline.read_max_bytes_per_second,
                    spool=(self.job.pipeline.folder / SPOOL).absolute() if self.job.spools else None,
                )
            )
            self._source = source
        return self._source

    @property
    def _notices(self) -> ProcessNotices:
        """Tells the driver, where there is a runner that listens."""
        return relayed(self.job) or ProcessNotices()

    def close(self) -> None:
        """Lets go of the source and the state."""
        if self._in_order is not None:
            self._in_order.close()
        if self._source is not None:
            self._source.close()
        if self._store is not None:
            self._store.close()
        self._source = self._store = self._in_order = None


def _figures(batch: PlannedBatch, now_ms: int, lag_bytes: int | None) -> dict[str, Any]:
    """What a query's progress tells of a batch beside its offsets; what is not known is left out."""
    # The rows of a snapshot stand for a moment that has nothing to do with how old the log's newest change was then.
    time_ms = None if batch.rows_left else batch.log_time_ms
    found = {
        "cdckit_batch_bytes": batch.log_bytes or None,
        "cdckit_lag_bytes": lag_bytes,
        "cdckit_lag_seconds": None if time_ms is None else max(0, now_ms - time_ms) / 1000,
        "cdckit_rows_left": batch.rows_left,
    }
    return {name: value for name, value in found.items() if value is not None}


def _orphaned() -> Callable[[], bool]:
    """Says whether the process that has started this one is gone: the state is wanted by those that come after it."""
    # Spark starts the planner as a child of the driver's JVM. Where that is killed no one tells the planner, and the
    # state would stay held until its wait ends.
    driver = os.getppid()
    return lambda: os.getppid() != driver
