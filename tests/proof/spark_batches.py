"""Batches read as Spark has them read, by the planner and the workers' own code, in this process and without a JVM."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from pyspark.sql.datasource import InputPartition

from cdckit.api.record import Offset
from cdckit.api.sink import Sink
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_encoder, make_sink, sink_context
from cdckit.engine.runners.start import claim
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.spark import planner as planning
from cdckit.engine.spark.batch_ledger import BatchLedger
from cdckit.engine.spark.job import Form, Job
from cdckit.engine.spark.packets import messages_of
from cdckit.engine.spark.stream_reader import BareReader
from cdckit.engine.state.generation import Generation
from cdckit.engine.state.ledger_file import kept_in
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import hand_to_spark, open_state
from cdckit.engine.state.spark_checkpoint import committed_batch, planned_batch, planned_end

Kill = Literal["before the sums", "before the commit", ""]
"""Where a run ends: the sink has the batch by then."""


class _Driver:
    """The driver as the planner sees it."""

    def __init__(self, ledger: BatchLedger) -> None:
        self._ledger = ledger

    def ask(self, what: str, *arguments: Any) -> Any:
        return 4 if what == "parallelism" else self._ledger.inbox.planned(*arguments)


@dataclass
class Batches:
    """Those of one pipeline, whose checkpoint stands where Spark's would. Messages are written; tables are not.

    Attributes:
        pipeline: the pipeline.
        monkeypatch: puts the driver where the planner asks for it.
        tasks: how many tasks each batch had.
        meanwhile: called once a batch is planned and before any of it is read.
    """

    pipeline: ResolvedPipeline
    monkeypatch: pytest.MonkeyPatch
    tasks: list[int] = field(default_factory=list)
    meanwhile: Callable[[], None] = field(default=lambda: None)

    def run(self, kill: Kill = "", *, most: int = 99, anew: bool = False) -> None:
        """Up to the log's end, over so many batches at the most, or to where it is killed in the first one."""
        with ExitStack() as stack:
            generation, ledger = self._begun(stack, anew=anew)
            checkpoint = generation.checkpoint(self.pipeline.folder)
            form: Form = "packed messages" if self._of_messages else "table rows"
            address, marks = ledger.inbox.address, not self._of_messages
            job = Job(self.pipeline, form, 4, ledger=address, marks=marks, ends=True)
            reader = BareReader(job)
            stack.callback(reader.stop)
            committed, planned = committed_batch(checkpoint), planned_batch(checkpoint)
            number = 0 if committed is None else committed.number + 1
            start = reader.initialOffset() if committed is None else committed.end
            if committed is not None:
                reader.partitions(start, start)  # as Spark shows it the last offset of a checkpoint
            for _ in range(most):
                repeated = planned is not None and planned >= number
                end = planned_end(checkpoint, number) if repeated else reader.latestOffset()
                if end == start:
                    return
                self._batch(checkpoint, ledger, reader, number, start, end, kill)
                if kill:
                    return
                start, number = end, number + 1

    def _batch(
        self, checkpoint: Path, ledger: BatchLedger, reader: BareReader, number: int, start: Offset, end: Offset,
        kill: Kill,
    ) -> None:  # fmt: skip
        _note(checkpoint / "offsets" / str(number), f"v1\n{{}}\n{json.dumps(end)}")
        abandoned = list(reader.partitions(start, end))  # planned, but no task of it comes to its end
        partitions = list(reader.partitions(start, end))
        self.tasks.append(len(partitions))
        self.meanwhile()
        ledger.begins(number)
        with self._sink() as sink:
            for partition in abandoned:
                next(iter(reader.read(_sent(partition))), None)
            # Tasks end in any order, and each of them may run again.
            for partition in reversed(partitions):
                list(reader.read(_sent(partition)))
            for packets in (packets for partition in partitions for packets in reader.read(_sent(partition))):
                if sink is not None:
                    for data in packets.column("data"):
                        sink.write(messages_of(data.as_buffer()))
            if sink is not None:
                sink.flush()
        if kill == "before the sums":
            return
        ledger.ends(number)
        if kill == "before the commit":
            return
        _note(checkpoint / "commits" / str(number), "v1\n{}")

    @contextmanager
    def _sink(self) -> Iterator[Sink | None]:
        sink = make_sink(self.pipeline)
        if not isinstance(sink, Sink):
            yield None
            return
        sink.open(sink_context(self.pipeline.name, make_encoder(self.pipeline).serializer))
        try:
            yield sink
        finally:
            sink.close()

    @property
    def _of_messages(self) -> bool:
        return isinstance(make_sink(self.pipeline), Sink)

    def _begun(self, stack: ExitStack, *, anew: bool) -> tuple[Generation, BatchLedger]:
        state = open_state(StatePlace.of(self.pipeline))
        try:
            claim(state, self.pipeline, StopSignal())
            generation = hand_to_spark(state, self.pipeline.folder, anew=anew)
            saved, values = state.load_offset(), kept_in(state)
        finally:
            state.close()
        checkpoint = generation.checkpoint(self.pipeline.folder)
        parts = self.pipeline, generation, checkpoint, None, values, saved, None
        mirrors = getattr(self.pipeline.sink.config, "mode", "") == "mirror"
        ledger = BatchLedger(*parts, tables=not self._of_messages, mirrors=mirrors, anew=anew)
        stack.callback(ledger.close)
        self.monkeypatch.setattr(planning, "driver_of", lambda _: _Driver(ledger))
        return generation, ledger


def _sent(partition: InputPartition) -> InputPartition:
    """As a worker gets it: reading changes what it has."""
    sent: InputPartition = pickle.loads(pickle.dumps(partition))
    return sent


def _note(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
