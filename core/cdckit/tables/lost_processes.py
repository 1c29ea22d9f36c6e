"""What Spark says where one of its processes did not start, or is gone: the same work, done once more, may succeed."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NOT_STARTED = "Python worker failed to connect back"
"""What Spark says of a Python process that did not get going within its limit, as on a machine that is overloaded."""

_OVERLOADED = "Spark could not start a Python process in time: the machine is overloaded"

_FACTORY = "org.apache.spark.api.python.PythonWorkerFactory"
_KILLED = "IOException: Stream closed", "IOException: Broken pipe", "EOFException"
"""What Spark says, with that class below, where the process is gone that starts its Python workers: it learns of it by
asking it.
"""

_PLANNER = "PythonStreamingSourceRunner."
"""The class that asks the Python process which plans a stream's batches."""
_UNHEARD = "EOFException", "Broken pipe", "Connection reset"
"""What Spark says, with that class below, where that process is gone."""

_GONE = "a Python process that Spark kept is gone: killed, perhaps by a system that was out of memory"

_CRASHED = "Python worker exited unexpectedly"
"""What Spark says where a worker was killed, be it long ago, while it was kept idle: it learns of it by using it."""

_EXECUTOR_LOST = re.compile(r"ExecutorLostFailure \([^)\n]{0,200}\) Reason: ([^\n]{0,200})")
"""What Spark says, and why, where a task's executors were lost more often than `spark.task.maxFailures` allows."""


def lost_process(text: str) -> str | None:
    """What became of a process of Spark's, by the text of an exception; None: it tells of none."""
    if _NOT_STARTED in text:
        return _OVERLOADED
    if lost := _EXECUTOR_LOST.search(text):
        return f"Spark has lost an executor: {lost[1].rstrip()}"
    killed = _CRASHED in text or _says(text, _FACTORY, _KILLED) or _says(text, _PLANNER, _UNHEARD)
    return _GONE if killed else None


def _says(text: str, by: str, any_of: Sequence[str]) -> bool:
    return by in text and any(said in text for said in any_of)
