"""Snapshots that begin anew: some times in a row for one reason, and not without end."""

from __future__ import annotations

import pytest

from cdckit.api.retry_schedule import RetrySchedule
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import SnapshotDueError, SourceError

LOST = SnapshotDueError("the log is lost at the place to go on from: a new snapshot is taken")
CHANGED = SnapshotDueError("table t has another type for x: it begins anew")


def test_the_fifth_for_one_reason_ends_the_run() -> None:
    """And says what helps, whichever it is."""
    retries = Retries(RetrySchedule(), StopSignal())
    for error in (*[LOST] * 4, *[CHANGED] * 4, *[LOST] * 4):
        retries.begins_anew(error)
    with pytest.raises(SourceError, match=r"the log is lost.*5 times in a row.*Where the log was lost, have") as ended:
        retries.begins_anew(LOST)
    assert ended.value.number == "CDC3508"
