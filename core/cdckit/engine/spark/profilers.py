"""What pyspark tells of its profilers where none runs."""

from __future__ import annotations

import sys

from pyspark.accumulators import _accumulatorRegistry


def silence_profilers() -> None:
    """Has a call of the data source, in a process of Spark's, send no results of profilers, unless one runs.

    Spark 4.2 has such calls send empty ones, which its command `spark-pipelines` takes for an error when all is done.
    """
    if _profiled():
        return
    # Numbers below 0 are Spark's own. Those that the driver adds results to were not sent there.
    for number in [number for number, kept in _accumulatorRegistry.items() if number < 0 and kept._deserialized]:
        del _accumulatorRegistry[number]


def _profiled() -> bool:
    # From Python 3.12 on `cProfile` is seen by the last alone.
    monitoring = getattr(sys, "monitoring", None)
    by_events = monitoring is not None and monitoring.get_tool(monitoring.PROFILER_ID) is not None
    return by_events or sys.getprofile() is not None or sys.gettrace() is not None
