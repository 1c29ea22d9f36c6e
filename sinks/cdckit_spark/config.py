"""Options of the sink `spark`."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from cdckit import ConfigError, Dataset, FolderUrl, NameList, dataset_below, split_names
from cdckit.tables.destinations import folder_name, table_name
from cdckit.tables.lake.options import Secret, revealed
from cdckit.tables.options import TableOptions, plain_path
from cdckit_spark.placing import MOST_CLUSTERING, Placing

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_STORE = re.compile(r"(?:s3a?|gs|abfss?)://")
"""Begins the URLs of object stores that delta-rs calls as Hadoop does."""
_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
"""One name of several with dots between."""
_MOST_PARTS = 2
"""Delta knows tables by a catalog, a database and a name at the most."""


def _beyond_tail(what: str, remedy: str) -> ConfigError:
    return ConfigError(
        f"tail: 'direct' writes Delta tables that it reaches by itself, and not {what}: {remedy}, or set 'tail: spark'",
        number="CDC2402",
    )


class LakeConfig(TableOptions):
    """Options of the sink `spark`."""

    identifying: ClassVar[tuple[str, ...]] = ("format", "mode", "path", "database")
    asked: ClassVar[tuple[str, ...]] = ("mode", "path")

    format: Literal["delta", "parquet"] = "delta"
    """How tables are stored: `delta`, or `parquet` (files alone, for `mode: changelog` only)."""
    path: FolderUrl | None = None
    """The folder, or an object store's URL, under which each topic has a table, named as the topic, with
    `_` and a digest where it has other characters than letters, digits, `.`, `_` and `-`.
    """
    database: str | None = None
    """In the place of `path`: the database (or `CATALOG.DATABASE`) of the tables, named as the topics with `_` for
    each `.` and `-`; two topics of one name are refused.
    """
    storage_options: dict[str, Secret] = Field(default_factory=dict, repr=False)
    """How the object store of `path` or of the database (`s3a://`, `gs://`, `abfss://`) is reached without Spark, as
    delta-rs names it: `storage.options.AWS_REGION`, `storage.options.AWS_SECRET_ACCESS_KEY`,
    `storage.options.AWS_ENDPOINT_URL` and so on; what is not named beside one of them is the environment's. With these
    the driver writes small tables there, and tasks many rows, as in a folder of this machine; without them all is
    Spark's to write.
    """
    commit_interval_ms: NonNegativeInt = 0
    """How long, in milliseconds, changes are gathered for one commit; 0 commits as soon as the one before is done."""
    tables_parallel: PositiveInt = 4
    """How many tables are written at the same time."""

    cluster_by: NameList = ""
    """The columns by which rows that are near each other are put into the same files, as a list or with commas, four at
    the most, so that who looks for some of them reads few files: new tables have them as `CLUSTER BY`, which `OPTIMIZE`
    goes by. A table is not clustered by columns that it lacks, or of which Delta keeps no bounds.
    """
    table: dict[str, str] = Field(default_factory=dict)
    """Properties of new tables, by Delta's names: `table.delta.deletedFileRetentionDuration: interval 3 days`,
    `table.delta.logRetentionDuration` … A table that is there gets those that it lacks.
    """

    small_batch_rows: NonNegativeInt = 50_000
    """A Delta table that has at most so many rows in a batch is written by the driver itself, with delta-rs, where
    `path` is a folder of the driver's machine, or an object store with `storage.options`, or a database of Spark's own
    catalog is there; more rows are Spark's to write, unless tasks do (`task.file.bytes`), and with 0 all are Spark's.
    """
    task_file_bytes: NonNegativeInt = 4 << 20
    """In `mode: changelog`, where the driver itself may write the table, which a `path` names, and the workers are on
    its machine or the table in an object store: a task that has read so many bytes of the table's rows, as they take
    memory, puts them into a data file itself, which the driver commits. With 0 no task does, and many rows are Spark's
    to write.
    """
    small_table_bytes: NonNegativeInt = 67_108_864
    """With `mode: mirror`: a table whose files are together larger than so many bytes is merged by Spark, however few
    rows a batch has for it.
    """

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.path is None) == (self.database is None):
            raise ValueError("give either 'path' or 'database'")
        if self.format == "parquet" and self.mode == "mirror":
            raise ValueError("'mode: mirror' needs 'format: delta': parquet files cannot be changed in place")
        if self.format == "parquet" and self.path is None:
            raise ValueError("'format: parquet' needs 'path'")
        if self.storage_options and not (self.reaches_store or self.database):
            raise ValueError(
                "'storage.options' say how the object store of Delta tables is reached (s3a://, gs://, abfss://): take "
                "them away, or name a 'path' there and 'format: delta'"
            )
        if self.format == "parquet" and self.placing.asks:
            raise ValueError("'cluster.by' and 'table.*' need 'format: delta': they are what Delta tables have")
        if len(self.placing.cluster_by) > MOST_CLUSTERING:
            raise ValueError(f"'cluster.by': Delta clusters a table by {MOST_CLUSTERING} columns at the most")
        if self.database is not None and not 1 <= len(self.database_parts) <= _MOST_PARTS:
            raise ValueError(
                "'database' is DATABASE or CATALOG.DATABASE; a name with dots in it stands between backticks"
            )
        if "${" in (self.database or ""):
            raise ValueError("'database' has '${', in the place of which Spark puts something else in names of tables")
        if self.format == "parquet" and self.infers_columns:
            raise ValueError(
                "'document.columns: inferred' needs 'format: delta', which keeps the columns with the table"
            )
        return self

    def not_on_spark(self) -> dict[str, str]:
        """Histories."""
        if self.mode != "history":
            return {}
        return {"mode": "'history' is kept by the sinks 'delta' and 'iceberg', on either runner"}

    def dataset(self, name: str) -> Dataset:
        """The topic's table."""
        if self.place is None:
            return Dataset("spark", f"{self.database}.{table_name(name)}", "TABLE")
        return dataset_below(self.place, folder_name(name))

    def tail_sink(self) -> dict[str, Any]:
        """The sink `delta`, for Delta tables in a folder of this machine, or an object store that it reaches."""
        if self.format != "delta":
            raise _beyond_tail(f"'sink.format: {self.format}'", "set it to delta")
        if self.place is None or (_URL.match(self.place) and not self.reaches_store):
            remedy = "name a folder of this machine in 'sink.path', or how its store is reached by 'storage.options'"
            raise _beyond_tail("tables elsewhere", remedy)
        if self.infers_columns:
            raise _beyond_tail("'sink.document.columns: inferred'", "declare the columns, or leave the option away")
        if self.placing.cluster_by:
            raise _beyond_tail("tables with 'sink.cluster.by', which delta-rs does not write", "take that away")
        shared = {*TableOptions.model_fields, "commit_interval_ms", "tables_parallel", "table", "storage_options"}
        given = {name.replace("_", "."): getattr(self, name) for name in shared & self.model_fields_set}
        return {"type": "delta", **given, "path": self.place}

    def identity(self) -> dict[str, str | list[str]]:
        """A path is the same as its `file:` URL."""
        return super().identity() | ({} if self.place is None else {"path": self.place})

    @property
    def database_parts(self) -> list[str]:
        """The names in `database`, without backticks; none where it is no such name."""
        text, parts, at = self.database or "", list[str](), 0
        while found := _PART.match(text, at):
            parts.append(found[2] or found[1].replace("``", "`"))
            at = found.end() + 1
            if text[found.end() : at] != ".":
                return parts if found.end() == len(text) else []
        return []

    @property
    def written_by_driver(self) -> bool:
        """Whether tables are such that the driver writes the small ones itself, where it reaches them."""
        return self.format == "delta" and bool(self.small_batch_rows) and not self.infers_columns

    @property
    def filed_by_workers(self) -> bool:
        """Whether workers that reach such a table put many rows of it into data files."""
        return self.mode == "changelog" and self.written_by_driver and bool(self.path and self.task_file_bytes)

    @property
    def reaches_store(self) -> bool:
        """Whether the tables of a `path` are in an object store that is reached without Spark."""
        return self.place is not None and self.format == "delta" and self.reaches(self.place)

    def reaches(self, place: str) -> bool:
        """Whether a place is in an object store that is reached without Spark."""
        return bool(self.storage_options) and _STORE.match(place) is not None

    @property
    def storage(self) -> dict[str, str]:
        """The store's options, secrets among them."""
        return revealed(self.storage_options)

    @property
    def placing(self) -> Placing:
        """How tables are made, and their rows put into files."""
        return Placing(split_names(self.cluster_by), self.table)

    @property
    def place(self) -> str | None:
        """`path` without `file:`, which a folder may have or not."""
        return None if self.path is None else plain_path(self.path)
