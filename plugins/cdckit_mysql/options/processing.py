"""Options: how events are worked off, and what becomes of those that cannot be."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt

from cdckit.connector.options.metric_tags import MetricTags

FailureHandling = Literal["fail", "warn", "skip", "ignore"]


class ProcessingOptions(MetricTags):
    """Batches and failures."""

    event_deserialization_failure_handling_mode: FailureHandling = "fail"
    """What becomes of an event that cannot be decoded: `fail` stops; `warn`, `skip` and `ignore` leave it out,
    count it, and log the first of each table (`warn`: every one). With these a date that does not exist, such as
    31 February, is shown as 1970-01-01, and logged.
    """
    inconsistent_schema_handling_mode: FailureHandling = "fail"
    """The same for an event of a table whose definition is not known, or is not the one that the log announces."""
    event_converting_failure_handling_mode: Literal["fail", "warn", "skip"] = "fail"
    """What becomes of a value that does not fit its column: `fail` stops; `warn` and `skip` show
    null in its place (the default or zero in a column that forbids NULL), count it, and log the first of each column
    (`warn`: every one).
    """
    max_batch_size: PositiveInt = 2048
    """How many records make up a batch at the most."""
    poll_interval_ms: PositiveInt = 500
    """The longest wait for new changes before an idle batch, in milliseconds; never an added delay."""
