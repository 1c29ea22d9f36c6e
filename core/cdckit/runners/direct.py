"""The direct runner: source, transforms, serializer and sink in one process, without a JVM."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from cdckit.errors import ConfigError
from cdckit.pipeline import Parts, ResolvedPipeline, notifier
from cdckit.record import Batch, Offset
from cdckit.runners.stop import StopSignal
from cdckit.sink import Sink, SinkContext
from cdckit.source import SourceContext, Split
from cdckit.state.authority import open_state
from cdckit.state.store import StateStore

log = logging.getLogger("cdckit.runner")


class DirectRunner:
    """Drives a pipeline in this process: one split after another, then along the open-ended one.

    An offset is saved at the most every `offset.flush.interval.ms`, and only after the sink's flush.
    """

    def __init__(self, pipeline: ResolvedPipeline, stopping: StopSignal | None = None) -> None:
        self.pipeline = pipeline
        self.stopping = stopping or StopSignal()
        self.notify = notifier(pipeline.name)

    def run(self, *, once: bool = False) -> None:
        """Runs until the log's end (`once`) or until asked to stop.

        Raises:
            CdcError: what stopped it; the last saved offset stands.
        """
        error: BaseException | None = None
        try:
            with ExitStack() as stack:
                self._run(stack, once)
        except BaseException as fault:
            error = fault
            raise
        finally:
            self.notify("stopped", error=error)

    def _run(self, stack: ExitStack, once: bool) -> None:
        parts = Parts(self.pipeline)
        sink = parts.sink()
        if not isinstance(sink, Sink):
            raise ConfigError(
                f"sink.type: '{self.pipeline.sink.registration.name}' keeps Spark tables and needs 'runner: spark'"
            )
        state = open_state(self.pipeline.state)
        stack.callback(state.close)
        encode = parts.encoder()
        stack.callback(encode.close)
        sink.open(SinkContext(self.pipeline.name, once, self.stopping, encode.serializer.writes_json))
        stack.callback(sink.close)
        source = parts.source()
        source.open(SourceContext(self.pipeline.name, state, self.notify, self.stopping))
        stack.callback(source.close)
        saved = state.load_offset()
        self.notify("started", runner="direct", offset=saved)
        progress = _Progress(self, state, sink, saved, source.committed)
        offset = saved if saved is not None else source.initial_offset()
        while not self.stopping():
            splits: Sequence[Split] = source.plan(offset, None)
            last = once and any(split.end is None for split in splits)
            if last:
                splits = source.plan(offset, source.latest_offset(offset))
            for split in splits:
                for batch in source.read(split):
                    if batch.records:
                        sink.write(encode(batch.records))
                    progress.took(batch)
            offset = progress.offset if progress.offset is not None else offset
            if last or not splits:
                break
        progress.save()


class _Progress:
    """What the sink has been given and what of it is saved."""

    def __init__(
        self,
        runner: DirectRunner,
        state: StateStore,
        sink: Sink,
        saved: Offset | None,
        tell: Callable[[Offset], None],
    ) -> None:
        self.notify = runner.notify
        self.interval = runner.pipeline.offset_flush_interval_ms / 1000
        self.state = state
        self.sink = sink
        self.tell_source = tell
        self.offset = saved
        self.saved = saved
        self.records = 0
        self.log_bytes = 0
        self.log_time_ms: int | None = None
        self.next_save = time.monotonic() + self.interval

    def took(self, batch: Batch) -> None:
        """Notes a batch that the sink was given; saves when it is time."""
        self.records += len(batch.records)
        self.log_bytes += batch.log_bytes
        if batch.log_time_ms is not None:
            self.log_time_ms = batch.log_time_ms
        if batch.offset is not None:
            self.offset = batch.offset
            if time.monotonic() >= self.next_save:
                self.save()

    def save(self) -> None:
        """Flushes the sink, then saves the offset."""
        self.next_save = time.monotonic() + self.interval
        if self.offset is None or (self.offset == self.saved and not self.records):
            return
        self.sink.flush()
        self.state.save_offset(self.offset)
        self.saved = self.offset
        self.tell_source(self.offset)
        self.notify(
            "batch_committed",
            records=self.records,
            offset=self.offset,
            log_time_ms=self.log_time_ms,
            log_bytes=self.log_bytes,
        )
        self.records = self.log_bytes = 0
