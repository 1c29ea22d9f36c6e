"""What a sink is given that writes packed messages, in a task or on the driver."""

from __future__ import annotations

from collections.abc import Callable

from cdckit.api.sink import SinkContext
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_encoder, sink_context
from cdckit.engine.quarantine.entries import Entries
from cdckit.engine.spark.faults import TaskFaults
from cdckit.engine.spark.inbox import Address


def task_faults(pipeline: ResolvedPipeline, address: Address | None) -> TaskFaults | None:
    """What gathers what a sink's target never takes, for the driver; None where that stops the pipeline."""
    return None if address is None else TaskFaults(address, Entries.of(pipeline), waits=pipeline.errors.waits)


def task_context(
    pipeline: ResolvedPipeline,
    faults: TaskFaults | None,
    *,
    once: bool,
    stopping: Callable[[], bool] = lambda: False,
) -> SinkContext:
    """What a sink is given that writes packed messages."""
    refused = None if faults is None else faults.message_failed
    return sink_context(pipeline.name, make_encoder(pipeline).serializer, once=once, stopping=stopping, refused=refused)
