"""How many splits a session may read at the same time, which executors that come and go change."""

from __future__ import annotations

from pyspark.sql import SparkSession

from cdckit.engine.config.requirements import is_on

MOST = 512
"""More splits are not planned for executors that are not there yet."""


def parallelism_of(session: SparkSession) -> int:
    """As many as there are processors now.

    With dynamic allocation, which adds executors only for tasks that wait: as many as there may be, or twice those of
    now where that has no limit.
    """
    context = session.sparkContext
    now, settings = context.defaultParallelism, context.getConf()
    if not is_on(settings.get("spark.dynamicAllocation.enabled", "false")):
        return now
    executors = settings.get("spark.dynamicAllocation.maxExecutors", "")
    processors = settings.get("spark.executor.cores", "1")
    if not executors.isdecimal() or not processors.isdecimal():
        return 2 * now
    return max(now, min(MOST, int(executors) * int(processors)))
