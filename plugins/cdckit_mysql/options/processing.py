"""Options: how events are worked off, and what becomes of those that cannot be."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt

from cdckit.metrics.tags import MetricTags

FailureHandling = Literal["fail", "warn", "skip", "ignore"]


class ProcessingOptions(MetricTags):
    """Batches and failures."""

    event_deserialization_failure_handling_mode: FailureHandling = "fail"
    """What becomes of an event that cannot be decoded: `fail` stops; `warn`, `skip` and `ignore` leave it out,
    count it, and log the first of each table.
    """
    max_batch_size: PositiveInt = 2048
    """How many records make up a batch at the most."""
    poll_interval_ms: PositiveInt = 500
    """The longest wait for new changes before an idle batch, in milliseconds; never an added delay."""
