"""The catalog that tables are in, where it is another than Spark's own."""

from __future__ import annotations

from pyspark.sql import SparkSession

from cdckit import ConfigError
from cdckit_spark.config import LakeConfig

_OWN = "spark_catalog"
"""What Spark calls its own."""
_SETTING = "spark.sql.catalog."
_OF_DELTA = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
"""The class that adds Delta's tables to those of Spark's own catalog."""


def check_catalog(session: SparkSession, config: LakeConfig) -> None:
    """Looks whether the session has the catalog that the tables are to be in.

    Raises:
        ConfigError: it does not, or that one holds no tables.
    """
    *above, _ = config.database_parts or [""]
    if not above or above == [_OWN]:
        return
    setting = _SETTING + above[0]
    kind = session.conf.get(setting, None)
    if kind is None:
        raise ConfigError(
            f"sink.database: Spark has no catalog '{above[0]}': name its class by '{setting}' among the pipeline's "
            "'spark', and its settings by names below that",
            number="CDC2402",
        )
    if kind == _OF_DELTA:
        raise ConfigError(
            f"sink.database: the catalog '{above[0]}' is {kind.rpartition('.')[2]}, which holds no tables but as "
            f"Spark's own catalog: name that one ('{_OWN}'), or a catalog with tables of its own, such as Unity's",
            number="CDC2402",
        )
