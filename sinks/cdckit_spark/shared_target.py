"""A Delta table that both write: Spark, and the driver itself by delta-rs, which needs no job for a few rows.

What is read of a table, made, noted or added to its columns goes by delta-rs where it can; any other alteration is
Spark's.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from cdckit.tables.delta import target as by_delta_rs
from cdckit.tables.delta.features import keeps_features, left_to_spark, list_mapping
from cdckit.tables.lake.arrow_types import arrow_schema
from cdckit.tables.target import NO_COMMENTS, BatchId, Columns
from cdckit_spark.config import LakeConfig
from cdckit_spark.targets import DeltaTarget, features_of, needs_mapping

log = logging.getLogger("cdckit.spark")


class SharedTarget(DeltaTarget):
    """One such table.

    Args:
        session: Spark's.
        config: the sink's.
        topic: the topic that the table is for.
        place: the folder of all tables, on this machine or in an object store.
        opened: as for any such table.
    """

    def __init__(self, session: SparkSession, config: LakeConfig, topic: str, place: str, opened: float) -> None:
        super().__init__(session, config, topic, opened)
        self._light: by_delta_rs.DeltaTarget | None = by_delta_rs.DeltaTarget(place, config.storage, topic)
        self._largest = config.small_table_bytes
        self._current = False
        self._left = False

    @property
    def left_to_spark(self) -> bool:
        """Whether delta-rs is known not to write the table."""
        return self._left

    def leave_to_spark(self, reason: str) -> None:
        """Has Spark alone write the table from here on."""
        log.info("table %s: written by Spark alone (%s)", self, reason)
        self._left = True

    def look_again(self) -> None:
        """Makes what others have committed since count from here on."""
        self._current = False

    def exists(self) -> bool:
        """Whether there is such a table, looked at anew."""
        return self._light is not None and self._light.is_there()

    def identity(self) -> str | None:
        """The id that its first commit has given it."""
        return super().identity() if (found := self.light()) is None else found.identity()

    def has_batches_of(self, application: str) -> bool:
        """Whether the table has batches of an application."""
        if (found := self.light()) is None:
            return super().has_batches_of(application)
        return found.version_of(application) is not None

    def keep_seen(self) -> None:
        """Remembers the table as it is behind a write."""
        if self._light is not None:
            self._light.keep_seen()

    def light(self) -> by_delta_rs.DeltaTarget | None:
        """The table as delta-rs writes it; None where Spark alone does, or where there is none."""
        found = self._seen()
        return found if found is not None and found.exists() else None

    def _located(self) -> by_delta_rs.DeltaTarget | None:
        """The table, or where it is to be, as delta-rs finds it; None: it does not."""
        return self._light

    def _seen(self) -> by_delta_rs.DeltaTarget | None:
        if not self._current and not self._left and (found := self._located()) is not None:
            found.refresh()
            self._current = True
            if found.exists():
                list_mapping(found.table)  # without which Spark does not open it
                if (reason := left_to_spark(found.table)) is not None:
                    self.leave_to_spark(reason)
        return None if self._left else self._light

    def columns(self) -> Columns:
        """The table's columns; none where there is no table yet."""
        found = self._seen()
        return super().columns() if found is None else found.columns()

    def create(self, columns: Columns, notes: Mapping[str, str], comments: Mapping[str, str] = NO_COMMENTS) -> None:
        """Makes the table, with notes about it, and comments."""
        found = self._seen()
        # Which Spark checks, with what it needs; it makes none where workers have put files of the batch already.
        by_spark = self._placing.asks or _beyond(columns) or (needs_mapping(columns) and not self._is_filed)
        if found is None or by_spark:
            self._current = False
            super().create(columns, notes, comments)
        else:
            found.create(columns, notes, comments)

    @property
    def _is_filed(self) -> bool:
        return self._config.filed_by_workers and self._light is not None and self._light.files.any()

    def add_columns(self, columns: Columns) -> None:
        """Adds columns at the end; earlier rows have null there."""
        by_spark = features_of(columns) or _beyond(columns)
        if (found := self.light()) is None or by_spark or not keeps_features(found.table):
            super().add_columns(columns)
        else:
            found.add_columns(columns)

    def fill(self, name: str, text: str) -> bool:
        """Gives the rows of a small table a value in a column."""
        return (found := self.light()) is not None and found.bytes <= self._largest and found.fill(name, text)

    def _properties(self) -> dict[str, str]:
        found = self.light()
        return super()._properties() if found is None else dict(found.table.metadata().configuration)

    def note(self, notes: Mapping[str, str]) -> None:
        """Keeps notes as properties of the table."""
        if (found := self.light()) is None or not keeps_features(found.table):
            super().note(notes)
        else:
            found.note(notes)

    # Whatever Spark does to the table, delta-rs looks at it anew before it goes on.

    def _write(self, rows: DataFrame, mode: str, batch: BatchId, *, columns: bool = False) -> None:
        self._current = False
        super()._write(rows, mode, batch, columns=columns)

    def _opened(self, session: SparkSession) -> DeltaTable:
        self._current = False
        return super()._opened(session)

    @property
    def _identifier(self) -> str:
        self._current = False
        return super()._identifier


def _beyond(columns: Columns) -> bool:
    """Whether some are of types that Spark alone writes, such as VARIANT."""
    try:
        arrow_schema(columns)
    except ValueError:
        return True
    return False
