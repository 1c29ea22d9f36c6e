"""Changes that the sink `delta` has left waiting beside a mirror (`mirror.apply.interval.ms`): they come first."""

from __future__ import annotations

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from cdckit.tables.absent import absent_names
from cdckit.tables.evolution import Evolution
from cdckit.tables.lake.deferred import KEY, SUFFIX, key_in
from cdckit.tables.lake.target import OURS
from cdckit.tables.layout import ABSENT
from cdckit.tables.target import BatchId
from cdckit_spark.folders import hadoop_path
from cdckit_spark.mirror import Mirror
from cdckit_spark.targets import DeltaTarget, SparkTarget


def merge_waiting(table: Evolution[SparkTarget], target: DeltaTarget, application: str) -> None:
    """Brings them into the mirror, and forgets them; where there is no mirror, all its rows are told anew.

    Args:
        table: the mirror's columns.
        target: the mirror.
        application: what counts the batches.
    """
    place = f"{target.path}{SUFFIX}"
    if target.path is None or not _is_there(target.session, place):
        return
    side = DeltaTable.forPath(target.session, place)
    changes = side.toDF()
    if changes.isEmpty():
        return
    if table.present():
        (detail,) = side.detail().collect()
        (last,) = side.history(1).select("version").collect()
        batch = BatchId(f"{application}/applied", int(last.version))
        mirror = Mirror(target, table.columns, batch, "", table.fitting)
        mirror.merge(changes, key_in(detail.properties[f"{OURS}{KEY}"]), _lacking(changes))
    side.delete()


def _is_there(session: SparkSession, place: str) -> bool:
    files, folder = hadoop_path(session, place)  # which needs no job
    return bool(files.exists(folder)) and DeltaTable.isDeltaTable(session, place)


def _lacking(changes: DataFrame) -> list[str]:
    """The columns that changes name as those whose values the log did not carry."""
    named = changes.select(ABSENT).where(changes[ABSENT].isNotNull()).distinct().collect()
    return sorted({name for (text,) in named for name in absent_names(text)})
