"""Signals that a program sends to the pipeline it runs: its source is in the planner, which is another process."""

from __future__ import annotations

import time
from collections.abc import Callable

from cdckit.connector.signals.channels import InProcessChannel, send
from cdckit.connector.signals.options import SignalOptions
from cdckit.connector.signals.signal import Signal
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.relay import driver_of

ASKED = "signals"
"""What the driver is asked for."""


def signals_of(pipeline: ResolvedPipeline) -> Callable[[], list[Signal]]:
    """The driver's own: gives those that were sent since it was last asked."""
    name = pipeline.source_config.logical_name
    channel = None if name is None or not _listens(pipeline) else InProcessChannel(name)
    return lambda: [] if channel is None else channel.poll()


def _listens(pipeline: ResolvedPipeline) -> bool:
    config = pipeline.source.config
    return isinstance(config, SignalOptions) and "in-process" in config.channels


class SentSignals:
    """The planner's end.

    Args:
        job: the query.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        config = job.pipeline.source.config
        self._interval = config.signal_poll_interval_ms / 1000 if isinstance(config, SignalOptions) else 0.0
        self._next = time.monotonic()
        self._listens = _listens(job.pipeline)

    def fetch(self) -> None:
        """Takes over what was sent, when it is time to look."""
        if not self._listens or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._interval
        name, driver = self._job.pipeline.source_config.logical_name, driver_of(self._job)
        if driver is not None and name is not None:
            for signal in driver.ask(ASKED):
                send(name, signal)
