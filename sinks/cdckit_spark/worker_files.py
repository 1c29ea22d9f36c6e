"""Changelogs' data files that workers write where they have decoded the rows, so that these do not pass the JVM.

Spark writes the rows of whatever table asks for more than a file of them: its features, or properties that say how its
files are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from cdckit.tables.delta.data_files import DeltaFiles
from cdckit.tables.delta.features import left_to_others
from cdckit.tables.delta.passing import ERRORS, passes, reason, refuses_rows
from cdckit.tables.delta.placing import Placing
from cdckit.tables.destinations import folder_name
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.lake.faults import Faults
from cdckit.tables.lake.gathering import GatheringTableEncoder
from cdckit_spark.config import LakeConfig
from cdckit_spark.targets import needs_mapping

_SPARKS_OWN = (
    "spark.sql.parquet.",
    "spark.hadoop.parquet.",
    "spark.sql.files.maxRecordsPerFile",
    "spark.databricks.delta.stats.",
)
"""Settings of a session that say how Spark makes data files begin so ..."""
_OF_OTHERS = (
    "spark.sql.parquet.fieldId.",
    "spark.sql.parquet.output.committer.class",
    "spark.sql.parquet.mergeSchema",
    "spark.sql.parquet.filterPushdown",
    "spark.hadoop.parquet.enable.summary-metadata",
)
"""... but for these: Delta's own, and what Hadoop advises for stores, which is said of other tables and readers."""
_PROPERTIES = (
    "delta.parquet.",
    "delta.randomizeFilePrefixes",
    "delta.targetFileSize",
    "delta.dataSkippingStatsColumns",
)
"""Properties of a table that say how its data files are made, and what is told of them, begin so."""


class WorkerFiles:
    """Says into which tables' folders a worker may put files.

    Args:
        config: the sink's, with a `path`.
    """

    def __init__(self, config: LakeConfig) -> None:
        self._place = config.place or ""
        self._storage = config.storage
        self._asks = config.placing.asks

    def __call__(self, topic: str, columns: Sequence[str]) -> DeltaFiles | None:
        """The data files of a topic's table for rows with some columns; None: these are Spark's to write."""
        path = f"{self._place.rstrip('/')}/{folder_name(topic)}"
        if not DeltaTable.is_deltatable(path, self._storage or None):
            # Where Spark makes the table, there may be no file in its folder before.
            return None if self._asks or needs_mapping(columns) else DeltaFiles(path, self._storage)
        table = DeltaTable(path, storage_options=self._storage or None)
        properties: Mapping[str, str] = table.metadata().configuration
        if left_to_others(table) is not None or any(name.startswith(_PROPERTIES) for name in properties):
            return None
        return DeltaFiles(path, self._storage, Placing(properties=properties).indexed)


def filing(encoder: TableEncoder, config: LakeConfig) -> GatheringTableEncoder:
    """An encoder that puts many rows of a table into a data file, where it takes one."""
    faults = Faults(ERRORS, passes, refuses_rows, reason)
    return GatheringTableEncoder(encoder, WorkerFiles(config), faults, config.task_file_bytes)


def shares_folders(session: SparkSession, config: LakeConfig, place: str) -> bool:
    """Whether workers that reach the tables' folders may write into them.

    Args:
        session: Spark's, whose settings may say how files are made.
        config: the sink's.
        place: the folder of all tables as Spark finds it, or its URL.
    """
    if any(name.startswith(_SPARKS_OWN) and not name.startswith(_OF_OTHERS) for name in session.conf.getAll):
        return False
    if config.place is None or config.reaches_store:
        return config.place is not None
    return str(Path(config.place).absolute()) == str(Path(place))
