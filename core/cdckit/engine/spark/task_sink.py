"""A sink that tasks write, as it is sent to them and kept by their worker processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

from cdckit.api.messages import Messages
from cdckit.api.sink import Sink
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_sink
from cdckit.engine.quarantine.delivery import TolerantSink
from cdckit.engine.spark.inbox import Address
from cdckit.engine.spark.task_context import task_context, task_faults
from cdckit.engine.spark.worker_cache import WorkerCache


@dataclass(frozen=True, slots=True)
class TaskSink:
    """What tasks need to know of it. It can be pickled.

    Attributes:
        pipeline: whose sink it is.
        faults: where the driver takes what the sink's target will never take; None: it stops the pipeline.
        once: whether the run ends by itself.
        token: tells the sink, kept in worker processes from batch to batch, from another's.
    """

    pipeline: ResolvedPipeline
    faults: Address | None
    once: bool
    token: str = field(default_factory=lambda: uuid4().hex)

    @contextmanager
    def writing(self) -> Iterator[OpenTaskSink]:
        """The sink, open, for one task's share, which is safe where the block ends without an error.

        Raises:
            CdcError: it cannot be opened, or did not take the share.
        """
        with _sinks.use(self.token, lambda: OpenTaskSink(self)) as sink:
            sink.begin()
            yield sink
            sink.flush()


class OpenTaskSink:
    """A sink in a worker process.

    Raises:
        CdcError: it cannot be opened.
    """

    def __init__(self, known: TaskSink) -> None:
        pipeline = known.pipeline
        sink = make_sink(pipeline)
        assert isinstance(sink, Sink)
        self._faults = task_faults(pipeline, known.faults)
        self._position_header = pipeline.position_header
        waits = pipeline.errors.waits
        self._sink = sink if self._faults is None else TolerantSink(sink, self._faults, waits=waits)
        try:
            self._sink.open(task_context(pipeline, self._faults, once=known.once))
        except BaseException:
            sink.close()
            raise

    def begin(self) -> None:
        """Another share is written."""
        if self._faults is not None:
            self._faults.begin()

    def write(self, messages: Messages) -> int:
        """Takes messages, and says how many."""
        if not self._position_header:
            messages.positions = [""] * len(messages)
        self._sink.write(messages)
        return len(messages)

    def flush(self) -> None:
        """Returns once everything is safe: in the target, or with the driver."""
        self._sink.flush()

    def close(self) -> None:
        """Drops what is not safe."""
        self._sink.close()


_sinks: WorkerCache[OpenTaskSink] = WorkerCache()
