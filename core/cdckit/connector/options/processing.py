"""Options: how much is read at a time, and what happens when a connection or an event fails."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from cdckit.connector.options.lineage import LineageOptions
from cdckit.connector.options.metric_tags import MetricTags

FailureHandling = Literal["fail", "warn", "skip", "ignore"]
"""What becomes of an event that cannot be decoded, in the options of each source."""


class ProcessingOptions(LineageOptions, MetricTags):
    """Batches, and attempts at reaching the server."""

    max_batch_size: PositiveInt = 2048
    """How many events make up a batch at the most."""
    poll_interval_ms: PositiveInt = 500
    """The longest wait for new changes before an idle batch, in milliseconds; never an added delay."""
    errors_max_retries: Annotated[int, Field(ge=-1)] = -1
    """How many more attempts there are once a connection is lost, before giving up; 0: none; -1: without end."""
    retriable_restart_connector_wait_ms: PositiveInt = 10000
    """The longest wait between two of these attempts, in milliseconds."""
