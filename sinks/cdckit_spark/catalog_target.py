"""A Delta table in a database of Spark's own catalog, which Spark makes there, and the driver writes where it lies."""

from __future__ import annotations

from pyspark.sql import SparkSession

from cdckit.tables.delta import target as by_delta_rs
from cdckit.tables.delta.places import is_misread
from cdckit.tables.destinations import table_name
from cdckit.tables.options import plain_path
from cdckit_spark.catalogs import known_table
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
        self._made_ms = 0

    def exists(self) -> bool:
        """Whether the catalog has something of the name, looked at anew."""
        found = known_table(self.session, self._config.database_parts[-1], table_name(self.topic))
        self._find(None if found is None else self._here(found.path), 0 if found is None else found.made_ms)
        return found is not None

    def _here(self, place: str | None) -> str | None:
        """A table's folder or URL, where delta-rs finds it below the place of the database."""
        if place is None:
            return None
        path = plain_path(place)
        return path if path.startswith(f"{self._place}/") and not is_misread(path) else None

    def _find(self, path: str | None, made_ms: int) -> None:
        """Notes where the table is now; one that was made anew is another, whose log has versions of its own."""
        if path is None:
            self._light = None
        elif self._light is None or (self._light.path, self._made_ms) != (path, made_ms):
            self._light, self._current = by_delta_rs.DeltaTarget.at(path, self._config.storage, self.topic), False
        self._made_ms = made_ms

    def _located(self) -> by_delta_rs.DeltaTarget | None:
        self.exists()
        # Where there is no log Spark says what the catalog has by that name: no second table is made there.
        return self._light if self._light is not None and self._light.is_there() else None
