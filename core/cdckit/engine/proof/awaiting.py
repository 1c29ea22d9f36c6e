"""How far the pipeline has come, waited for: everything before that place is in the sink."""

from __future__ import annotations

import time
from collections.abc import Callable

from cdckit.api.record import Offset
from cdckit.engine.metrics.status import pipeline_status
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import current_offset
from cdckit.errors import StoppedError

_STEP_SECONDS = 0.1


def await_passed(
    place: StatePlace,
    passed: Callable[[Offset], bool],
    still: Callable[[Offset], bool],
    seconds: float,
    stopping: Callable[[], bool],
) -> str | None:
    """Returns once the pipeline has passed a point: None; or why it did not.

    Args:
        place: the pipeline's state.
        passed: whether an offset lies behind the point.
        still: of a pipeline that does not run, whether the log tells nothing from its offset to the point.
        seconds: how long a pipeline that runs may take.
        stopping: whether waiting is to end.

    Raises:
        StateError: the state cannot be read.
        StoppedError: it was to end.
    """
    deadline = time.monotonic() + seconds
    while True:
        runs = pipeline_status(place).state == "running"
        offset = current_offset(place)
        if offset is not None and passed(offset):
            return None
        if not runs:
            if offset is not None and still(offset):
                return None
            return (
                "the pipeline does not run, and has not read the log up to where its source stands: start it, or run "
                "it once (cdc run FILE --once), and compare again"
            )
        if time.monotonic() > deadline:
            return f"the pipeline did not come up to the source within {seconds:.0f} s: give it more (--wait SECONDS)"
        if stopping():
            raise StoppedError
        time.sleep(_STEP_SECONDS)
