"""Where a topic's table lives, and what Spark and Delta are asked to do with it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from cdckit_spark.config import LakeConfig

Columns = dict[str, str]
"""A table's columns and their types, in order."""

_NEEDS_MAPPING = re.compile(r"[ ,;{}()\n\t=]")
"""What a column's name may hold only where Delta maps names to files' own."""


class BatchId(NamedTuple):
    """A batch of a pipeline: written twice, it is there once."""

    application: str
    number: int


class Target(ABC):
    """One table."""

    @abstractmethod
    def columns(self) -> Columns:
        """The table's columns; none where there is no table yet."""

    @abstractmethod
    def create(self, columns: Columns) -> None:
        """Makes the table."""

    @abstractmethod
    def add_columns(self, columns: Columns) -> None:
        """Adds columns at the end; earlier rows have null there."""

    @abstractmethod
    def notes(self) -> dict[str, str]:
        """What the sink has noted about the table; nothing where the format has no place for it."""

    @abstractmethod
    def note(self, notes: Mapping[str, str]) -> None:
        """Keeps notes with the table."""

    @abstractmethod
    def append(self, rows: DataFrame, batch: BatchId) -> None:
        """Adds rows; none where the batch is there already."""


class DeltaTarget(Target):
    """One Delta table, by its path or its name."""

    def __init__(self, session: SparkSession, config: LakeConfig, topic: str) -> None:
        self.session = session
        self.path = None if config.path is None else f"{config.path.rstrip('/')}/{topic}"
        self.name = None if config.database is None else f"{config.database}.{_table_name(topic)}"

    def __str__(self) -> str:
        return self.path or self.name or ""

    def columns(self) -> Columns:
        """The table's columns; none where there is no table yet."""
        return _types_of(self.table().toDF().schema) if self._exists() else {}

    def _exists(self) -> bool:
        if self.path:
            return DeltaTable.isDeltaTable(self.session, self.path)
        return self.session.catalog.tableExists(self.name or "")

    def create(self, columns: Columns) -> None:
        """Makes the table."""
        self._remove_unfinished()
        builder = DeltaTable.createIfNotExists(self.session)
        builder = builder.location(self.path) if self.path else builder.tableName(self.name or "")
        for name, kind in columns.items():
            builder = builder.addColumn(name, kind)
        for key, value in _features(columns).items():
            builder = builder.property(key, value)
        builder.execute()

    def _remove_unfinished(self) -> None:
        """A process killed while it made the table leaves a log without a commit: to Delta, a broken table."""
        if self.path is None:
            return
        jvm = self.session._jvm
        assert jvm is not None
        log = jvm.org.apache.hadoop.fs.Path(self.path, "_delta_log")
        files = log.getFileSystem(self.session._jsc.hadoopConfiguration())
        if files.exists(log) and not any(file.getPath().getName().endswith(".json") for file in files.listStatus(log)):
            files.delete(log, True)

    def add_columns(self, columns: Columns) -> None:
        """Adds columns at the end; earlier rows have null there."""
        features = _features(columns)
        if features:
            self._set_properties(features)
        added = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
        self.session.sql(f"ALTER TABLE {self._identifier} ADD COLUMNS ({added})")

    def notes(self) -> dict[str, str]:
        """The table's properties that begin with `cdckit.`, without that."""
        (detail,) = self.table().detail().select("properties").collect()
        found: dict[str, str] = detail.properties
        return {name.removeprefix("cdckit."): text for name, text in found.items() if name.startswith("cdckit.")}

    def note(self, notes: Mapping[str, str]) -> None:
        """Keeps notes as properties of the table."""
        self._set_properties({f"cdckit.{name}": text for name, text in notes.items()})

    def append(self, rows: DataFrame, batch: BatchId) -> None:
        """Adds rows in one commit that carries the batch's number."""
        self._write(rows, "append", batch)

    def replace(self, rows: DataFrame, batch: BatchId) -> None:
        """Puts rows in the place of all others, in one commit."""
        self._write(rows, "overwrite", batch)

    def _write(self, rows: DataFrame, mode: str, batch: BatchId) -> None:
        writer = rows.write.format("delta").mode(mode)
        writer = writer.option("txnAppId", batch.application).option("txnVersion", str(batch.number))
        if self.path:
            writer.save(self.path)
        else:
            writer.saveAsTable(self.name or "")

    def table(self, batch: BatchId | None = None) -> DeltaTable:
        """The table to merge into; with a batch, a merge that is there already changes nothing."""
        session = self.session if batch is None else _transaction(self.session, batch)
        return DeltaTable.forPath(session, self.path) if self.path else DeltaTable.forName(session, self.name or "")

    @property
    def _identifier(self) -> str:
        return f"delta.`{self.path}`" if self.path else f"{self.name}"

    def _set_properties(self, properties: Mapping[str, str]) -> None:
        given = ", ".join(f"{_literal(key)} = {_literal(value)}" for key, value in properties.items())
        self.session.sql(f"ALTER TABLE {self._identifier} SET TBLPROPERTIES ({given})")


class ParquetTarget(Target):
    """A folder of parquet files, inside it a folder for each batch, so that a batch can be written again."""

    def __init__(self, session: SparkSession, config: LakeConfig, topic: str) -> None:
        self.session = session
        self.path = f"{(config.path or '').rstrip('/')}/{topic}"

    def __str__(self) -> str:
        return self.path

    def columns(self) -> Columns:
        """The columns of all files."""
        if not _path_exists(self.session, self.path):
            return {}
        found = _types_of(self.session.read.option("mergeSchema", "true").parquet(self.path).schema)
        found.pop("__batch", None)
        return found

    def create(self, columns: Columns) -> None:
        """The first batch makes it."""

    def add_columns(self, columns: Columns) -> None:
        """Files tell their own columns; read with `mergeSchema`."""

    def notes(self) -> dict[str, str]:
        """Parquet has no place for notes."""
        return {}

    def note(self, notes: Mapping[str, str]) -> None:
        """Parquet has no place for notes."""

    def append(self, rows: DataFrame, batch: BatchId) -> None:
        """Writes the batch's own folder, anew where it is there already."""
        folder = f"{self.path}/__batch={batch.application.rpartition('/')[2]}-{batch.number}"
        rows.write.mode("overwrite").parquet(folder)


def _path_exists(session: SparkSession, path: str) -> bool:
    jvm = session.sparkContext._jvm
    assert jvm is not None
    hadoop = jvm.org.apache.hadoop.fs.Path(path)
    system = hadoop.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    return bool(system.exists(hadoop))


def _transaction(session: SparkSession, batch: BatchId) -> SparkSession:
    """A session whose next merge is the batch's, so that tables written in parallel do not share the setting."""
    own = session.newSession()
    own.conf.set("spark.databricks.delta.write.txnAppId", batch.application)
    own.conf.set("spark.databricks.delta.write.txnVersion", str(batch.number))
    return own


def _types_of(schema: StructType) -> Columns:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def quoted(name: str) -> str:
    """A column's name as an identifier in SQL."""
    return f"`{name.replace('`', '``')}`"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _table_name(topic: str) -> str:
    return quoted(re.sub(r"[.\-]", "_", topic))


def _features(columns: Columns) -> dict[str, str]:
    """The properties that a Delta table needs for columns like these."""
    features = {}
    if any("timestamp_ntz" in kind for kind in columns.values()):
        features["delta.feature.timestampNtz"] = "supported"
    if any(_NEEDS_MAPPING.search(name) for name in columns):
        features["delta.columnMapping.mode"] = "name"
    return features
