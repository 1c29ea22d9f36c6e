"""A Delta table in a database of Spark's own catalog, which Spark makes there, and the driver writes where it lies."""

from __future__ import annotations

from pyspark.sql import SparkSession

from cdckit.tables.delta import target as by_delta_rs
from cdckit.tables.destinations import table_name
from cdckit.tables.options import plain_path
from cdckit_spark.catalogs import location_of_table
from cdckit_spark.config import LakeConfig
from cdckit_spark.shared_target import SharedTarget


class CatalogTarget(SharedTarget):
    """One such table.

    Args:
        session: Spark's.
        config: the sink's.
        topic: the topic that the table is for.
        place: where the database has its tables, on this machine or in an object store; those elsewhere are Spark's.
        opened: as for any such table.
    """

    def __init__(self, session: SparkSession, config: LakeConfig, topic: str, place: str, opened: float) -> None:
        super().__init__(session, config, topic, place, opened)
        self._place = place.rstrip("/")
        self._light = None

    def exists(self) -> bool:
        """Whether the catalog has such a table, looked at anew."""
        database, table = self._config.database_parts[-1], table_name(self.topic)
        found = location_of_table(self.session, database, table)
        self._find(None if found is None else plain_path(found))
        return found is not None

    def _find(self, path: str | None) -> None:
        """Notes where the table is now."""
        if path is None or not path.startswith(f"{self._place}/"):
            self._light = None
        elif self._light is None or self._light.path != path:
            self._light = by_delta_rs.DeltaTarget.at(path, self._config.storage, self.topic)

    def _located(self) -> by_delta_rs.DeltaTarget | None:
        self.exists()
        return self._light
