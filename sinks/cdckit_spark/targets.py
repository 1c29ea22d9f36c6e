"""Where a topic's table lives, and what Spark and Delta are asked to do with it."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping

from delta.tables import DeltaTable
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

from cdckit.tables.destinations import folder_name, table_name
from cdckit.tables.target import NO_COMMENTS, TOPIC, BatchId, Columns, Target, literal, quoted
from cdckit_spark.catalogs import OWN, is_sparks_own
from cdckit_spark.config import LakeConfig
from cdckit_spark.folders import hadoop_path
from cdckit_spark.names import sql_type, verbatim
from cdckit_spark.own_session import with_settings
from cdckit_spark.placing import clustered_by, creation, with_properties
from cdckit_spark.unfinished import remove_unfinished, remove_unknown

_OWNER = "_cdckit_topic"
"""The file that says which topic a folder of parquet files is for; Spark passes over names that begin so."""
_OURS = (f"cdckit.{TOPIC}", "cdckit.pipeline")
"""The properties that tell whose table it is."""
LEAST_BYTES = 64 << 20
"""Smaller tables are read as a whole sooner than a job is done that looks for the files to be read."""
_NEEDS_MAPPING = re.compile(r"[ ,;{}()\n\t=]")
"""What a column's name may hold only where Delta maps names to files' own."""


class SparkTarget(Target):
    """One table that Spark writes."""

    folds_case = True

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is such a table, looked at anew."""

    @abstractmethod
    def append(self, rows: DataFrame, batch: BatchId) -> None:
        """Adds rows; none where the batch is there already."""

    def has_batches_of(self, application: str) -> bool:
        """Whether the table has batches of an application."""
        return False


class DeltaTarget(SparkTarget):
    """One Delta table, by its path or its name.

    Args:
        session: Spark's.
        config: the sink's.
        topic: the topic that the table is for.
        opened: when the sink was, in seconds since 1970; it makes no table where that is not told.
    """

    changes_rows = True

    def __init__(self, session: SparkSession, config: LakeConfig, topic: str, opened: float = 0.0) -> None:
        self.session = session
        self.topic = topic
        self._sink_opened = opened
        self.path = None if config.path is None else _folder(config.path, topic)
        self.name = None if config.database is None else f"{config.database}.{quoted(table_name(topic))}"
        self._config = config
        self._placing = config.placing

    def __str__(self) -> str:
        return self.path or self.name or ""

    def columns(self) -> Columns:
        """The table's columns; none where there is no table yet."""
        return _types_of(self.table().toDF().schema) if self.exists() else {}

    def exists(self) -> bool:
        """Whether there is such a table."""
        if self.path:
            return DeltaTable.isDeltaTable(self.session, self.path)
        return self.session.catalog.tableExists(self.name or "")

    def identity(self) -> str | None:
        """The id that its first commit has given it."""
        try:
            return str(self._snapshot().metadata().id())
        except Py4JJavaError:
            raise
        except Py4JError:  # clusters that are shared may let nobody call that
            return str(self._detail().id)

    def has_batches_of(self, application: str) -> bool:
        """Whether the table has batches of an application."""
        return bool(self._snapshot().transactions().contains(application))

    def _snapshot(self) -> JavaObject:
        """What Delta knows of the table; to ask for its details takes four times as long."""
        return self.table()._jdt.deltaLog().unsafeVolatileSnapshot()

    def newest(self) -> int:
        """The number of its newest version."""
        [last] = self.table().history(1).select("version").collect()
        return int(last.version)

    @property
    def skips_files(self) -> bool:
        """Whether there is so much in several files that to leave some out may save more than it costs to find them."""
        detail = self._detail()
        return int(detail.numFiles) > 1 and int(detail.sizeInBytes) >= LEAST_BYTES

    def read(self, version: int) -> DataFrame:
        """The rows of a version."""
        if self.path:
            return self.session.read.format("delta").option("versionAsOf", version).load(self.path)
        return self._sql(f"SELECT * FROM {self.name} VERSION AS OF {version}")  # noqa: S608 - a quoted name

    @property
    def folder(self) -> str:
        """Where its files are."""
        if self.path:
            return self.path
        return str(self._detail().location)

    def create(self, columns: Columns, notes: Mapping[str, str], comments: Mapping[str, str] = NO_COMMENTS) -> None:
        """Makes the table, with notes about it, and comments, all in one commit."""
        ours = {f"cdckit.{name}": text for name, text in {TOPIC: self.topic, **notes}.items()}
        self._remove_unfinished(ours)
        properties = {**self._placing.properties, **features_of(columns), **ours}
        clustering = self._placing.clustering(self, columns)
        self._sql(creation(self._identifier, columns, comments, clustering, properties))
        self.check_made(notes)

    def complete(self) -> None:
        """Gives the table, where it is there, the properties that the user wants and it lacks."""
        if not self._placing.properties or not self.exists():
            return
        detail = self._detail()
        # These are asked for as if they were properties, and stand elsewhere then.
        protocol = {f"delta.feature.{name}": "supported" for name in detail.tableFeatures}
        protocol["delta.minReaderVersion"] = str(detail.minReaderVersion)
        protocol["delta.minWriterVersion"] = str(detail.minWriterVersion)
        if lacking := self._placing.lacking(self, {**protocol, **detail.properties}):
            self._set_properties(lacking)

    def _remove_unfinished(self, notes: Mapping[str, str]) -> None:
        """What a process has left that was killed while it made the table."""
        if self.path is not None:
            remove_unfinished(self.session, self.path, self._sink_opened)
        elif is_sparks_own(self.session, self._config):
            told = {name: text for name, text in notes.items() if name in _OURS}
            remove_unknown(self.session, self._config.database_parts[-1], table_name(self.topic), told)

    def add_columns(self, columns: Columns) -> None:
        """Adds columns at the end; earlier rows have null there."""
        features = features_of(columns)
        if features:
            self._set_properties(features)
        added = ", ".join(f"{quoted(name)} {sql_type(kind)}" for name, kind in columns.items())
        self._sql(f"ALTER TABLE {self._identifier} ADD COLUMNS ({added})")

    def widen(self, columns: Columns) -> None:
        """Gives columns a wider type, by Delta's type widening: no file is written anew."""
        self._set_properties({"delta.enableTypeWidening": "true"} | features_of(columns))
        for name, kind in columns.items():
            self._sql(f"ALTER TABLE {self._identifier} ALTER COLUMN {quoted(name)} TYPE {sql_type(kind)}")

    def drop_column(self, name: str) -> None:
        """Takes a column away, by Delta's column mapping: no file is written anew."""
        self._map_columns()
        clustering, _ = self._clustered()
        if name in clustering:  # Delta does not drop a column that it clusters by
            left = self.columns()
            del left[name]
            self._cluster([each for each in clustering if each != name], left)
        self._sql(f"ALTER TABLE {self._identifier} DROP COLUMN {quoted(name)}")

    def rename_column(self, old: str, new: str) -> None:
        """Gives a column another name, by Delta's column mapping: no file is written anew."""
        self._map_columns()
        self._sql(f"ALTER TABLE {self._identifier} RENAME COLUMN {quoted(old)} TO {quoted(new)}")

    def _clustered(self) -> tuple[list[str], list[str]]:
        """The columns that the table is clustered by, and those that it is partitioned by."""
        detail = self._detail()
        return [_unquoted(name) for name in detail.clusteringColumns], list(detail.partitionColumns)

    def _cluster(self, before: Iterable[str], columns: Columns) -> None:
        """Has the table clustered as the user wants, or else by what is left of the columns of before."""
        wanted = self._placing.clustering(self, columns) or [name for name in before if name in columns]
        self._sql(clustered_by(self._identifier, wanted))

    def _map_columns(self) -> None:
        if self._properties().get("delta.columnMapping.mode") != "name":
            self._set_properties({"delta.columnMapping.mode": "name"})

    def comment(self, column: str, text: str | None) -> None:
        """Says what a column is for, or the table ("")."""
        shown = literal(text or "")
        if column:
            self._sql(f"ALTER TABLE {self._identifier} ALTER COLUMN {quoted(column)} COMMENT {shown}")
        else:
            self._sql(f"COMMENT ON TABLE {self._identifier} IS {shown}")

    def update(self, values: Mapping[str, str], where: str | None = None) -> None:
        """Changes rows in one commit."""
        changed: dict[str, str | Column] = {quoted(name): value for name, value in values.items()}
        condition = where or "true"
        session = verbatim(self.session, condition, *values.values())
        self._opened(session).update(condition, changed)

    def notes(self) -> dict[str, str]:
        """The table's properties that begin with `cdckit.`, without that."""
        found = self._properties()
        return {name.removeprefix("cdckit."): text for name, text in found.items() if name.startswith("cdckit.")}

    def _detail(self) -> Row:
        """What Delta tells of the table; as a whole, since a choice of columns is a job of Spark's."""
        (detail,) = self.table().detail().collect()
        return detail

    def _properties(self) -> dict[str, str]:
        found: dict[str, str] = self._detail().properties
        return found

    def note(self, notes: Mapping[str, str]) -> None:
        """Keeps notes as properties of the table."""
        self._set_properties({f"cdckit.{name}": text for name, text in notes.items()})

    def append(self, rows: DataFrame, batch: BatchId) -> None:
        """Adds rows in one commit that carries the batch's number."""
        self._write(rows, "append", batch)

    def replace(self, rows: DataFrame, batch: BatchId, *, columns: bool = False) -> None:
        """Puts rows, and perhaps their columns, in the place of all others, in one commit."""
        if columns and (features := features_of(_types_of(rows.schema))):
            self._set_properties(features)
        clustering, partitions = self._clustered()
        self._write(rows, "overwrite", batch, columns=columns)
        if clustering or (self._placing.cluster_by and not partitions):
            self._cluster(clustering, _types_of(rows.schema))  # which Delta has let go of with the rows

    def _write(self, rows: DataFrame, mode: str, batch: BatchId, *, columns: bool = False) -> None:
        writer = rows.write.format("delta").mode(mode).option("overwriteSchema", str(columns).lower())
        # Delta passes over a write whose number its log has: a batch that Spark repeats is there once.
        writer = writer.option("txnAppId", batch.application).option("txnVersion", str(batch.number))
        if self.path:
            writer.save(self.path)
        else:
            writer.saveAsTable(self.name or "")

    def table(self, batch: BatchId | None = None) -> DeltaTable:
        """The table to merge into; with a batch, a merge that is there already changes nothing."""
        return self._opened(self.session if batch is None else _transaction(self.session, batch))

    def _opened(self, session: SparkSession) -> DeltaTable:
        return DeltaTable.forPath(session, self.path) if self.path else DeltaTable.forName(session, self.name or "")

    @property
    def _identifier(self) -> str:
        # Paths are tables of Spark's own catalog, whatever the session's is.
        return f"{OWN}.delta.{quoted(self.path)}" if self.path else f"{self.name}"

    def _sql(self, text: str) -> DataFrame:
        return verbatim(self.session, text).sql(text)

    def _set_properties(self, properties: Mapping[str, str]) -> None:
        self._sql(with_properties(self._identifier, properties))


class ParquetTarget(SparkTarget):
    """A folder of parquet files, inside it a folder for each batch, so that a batch can be written again."""

    def __init__(self, session: SparkSession, config: LakeConfig, topic: str) -> None:
        self.session = session
        self.topic = topic
        self.path = _folder(config.path or "", topic)
        self._claimed = False

    def __str__(self) -> str:
        return self.path

    def columns(self) -> Columns:
        """The columns of all files."""
        if not self.exists():
            return {}
        found = _types_of(self.read().schema)
        found.pop("__batch", None)
        return found

    def exists(self) -> bool:
        """Whether there is such a folder."""
        files, place = hadoop_path(self.session, self.path)
        return bool(files.exists(place))

    def read(self) -> DataFrame:
        """All files, with the columns of all of them."""
        return self.session.read.option("mergeSchema", "true").parquet(self.path)

    def create(self, columns: Columns, notes: Mapping[str, str], comments: Mapping[str, str] = NO_COMMENTS) -> None:
        """The first batch makes it; files have no comments."""

    def add_columns(self, columns: Columns) -> None:
        """Files tell their own columns; read with `mergeSchema`."""

    def notes(self) -> dict[str, str]:
        """Which topic it is for; parquet has no place for more."""
        files, place = hadoop_path(self.session, f"{self.path}/{_OWNER}")
        if not files.exists(place):
            return {}
        with_text = files.open(place)
        try:
            return {TOPIC: bytes(with_text.readAllBytes()).decode()}
        finally:
            with_text.close()

    def note(self, notes: Mapping[str, str]) -> None:
        """Keeps which topic it is for, in a file beside the batches; parquet has no place for more."""
        if TOPIC not in notes:
            return
        files, place = hadoop_path(self.session, f"{self.path}/{_OWNER}")
        file = files.create(place, True)
        try:
            file.write(bytearray(notes[TOPIC].encode()))
        finally:
            file.close()

    def append(self, rows: DataFrame, batch: BatchId) -> None:
        """Writes the batch's own folder, anew where it is there already."""
        # Parquet has no transactions: a batch that is written again overwrites its own folder.
        # Behind the pipeline's name; of what a job has named all, as "eu/day" and "us/day" count for themselves.
        counted = batch.application.partition("/")[2].replace("/", "%2F")
        rows.write.mode("overwrite").parquet(f"{self.path}/__batch={counted}-{batch.number}")
        if not self._claimed:
            self.claim()
            self._claimed = True


def _folder(path: str, topic: str) -> str:
    """A topic's folder, which lies directly below the path."""
    return f"{path.rstrip('/')}/{folder_name(topic)}"


def _transaction(session: SparkSession, batch: BatchId) -> SparkSession:
    """A session whose next merge is the batch's, so that tables written in parallel do not share the setting."""
    # Delta reads the setting from the session at the commit, and other tables commit at the same time.
    prefix = "spark.databricks.delta.write.txn"
    return with_settings(session, {f"{prefix}AppId": batch.application, f"{prefix}Version": str(batch.number)})


def _unquoted(name: str) -> str:
    """A column's name as the table's details have it."""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def needs_mapping(columns: Iterable[str]) -> bool:
    """Whether one of some names is none of a file's own."""
    return any(_NEEDS_MAPPING.search(name) for name in columns)


def _types_of(schema: StructType) -> Columns:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def features_of(columns: Columns) -> dict[str, str]:
    """The properties that a Delta table needs for columns like these."""
    features = {}
    if any("timestamp_ntz" in kind for kind in columns.values()):
        features["delta.feature.timestampNtz"] = "supported"
    if needs_mapping(columns):
        features["delta.columnMapping.mode"] = "name"
    return features
