"""A pipeline's last hour: a sample every ten seconds, of numbers that only grow and of some that do not."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.snapshot_figures import now
from cdckit.engine.metrics.usage import usage

SAMPLE_SECONDS = 10.0
SAMPLES = 360
"""So many are kept: an hour of them."""


class Sample(NamedTuple):
    """What was so at one moment. Times are in seconds since 1970.

    Attributes:
        at: when.
        run: when the run began that it is of: what grows begins anew there.
        records: how many records the sink holds.
        rows: how many rows its snapshots have read.
        log_bytes: how much of the log was read.
        lag_seconds: how old the newest delivered change was; None: not known.
        source_lag: how old it was when it was read.
        sink_lag: how long the sink then took to have it safe.
        cpu_seconds: processor time.
        memory_bytes: memory.
    """

    at: float
    run: float
    records: int
    rows: int
    log_bytes: int
    lag_seconds: float | None
    source_lag: float | None
    sink_lag: float | None
    cpu_seconds: float
    memory_bytes: int | None


def sample(figures: Figures) -> Sample:
    """One of a run, now."""
    used = usage()
    return Sample(
        round(now(), 1),
        figures.started,
        figures.records,
        figures.snapshot.rows_ever,
        figures.log_bytes,
        figures.lag_seconds,
        figures.pace.source_lag,
        figures.pace.sink_lag,
        round(used.cpu_seconds, 2),
        used.memory_bytes,
    )


def kept(samples: Iterable[Any]) -> deque[Sample]:
    """Samples that an earlier run has written; what is none is left out."""
    found = [Sample(*each) for each in samples if isinstance(each, list) and len(each) == len(Sample._fields)]
    return deque(found, maxlen=SAMPLES)
