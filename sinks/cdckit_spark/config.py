"""Options of the sink `spark`."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal, Self

from pydantic import NonNegativeInt, PositiveInt, model_validator

from cdckit import ConfigError, Dataset, FolderUrl, dataset_below
from cdckit.tables.destinations import folder_name, table_name
from cdckit.tables.options import TableOptions, plain_path

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _beyond_tail(what: str, remedy: str) -> ConfigError:
    return ConfigError(
        f"tail: 'direct' writes Delta tables of this machine, and not {what}: {remedy}, or set 'tail: spark'",
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
    commit_interval_ms: NonNegativeInt = 0
    """How long, in milliseconds, changes are gathered for one commit; 0 commits as soon as the one before is done."""
    tables_parallel: PositiveInt = 4
    """How many tables are written at the same time."""

    small_batch_rows: NonNegativeInt = 50_000
    """A Delta table that has at most so many rows in a batch is written by the driver itself, with delta-rs, where
    `path` is a folder of the driver's machine; more rows are Spark's to write, and with 0 all are.
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
        """The sink `delta`, for Delta tables in a folder of this machine."""
        if self.format != "delta":
            raise _beyond_tail(f"'sink.format: {self.format}'", "set it to delta")
        if self.place is None or _URL.match(self.place):
            raise _beyond_tail("tables elsewhere", "name a folder of this machine in 'sink.path'")
        if self.infers_columns:
            raise _beyond_tail("'sink.document.columns: inferred'", "declare the columns, or leave the option away")
        shared = {*TableOptions.model_fields, "commit_interval_ms", "tables_parallel"}
        given = {name.replace("_", "."): getattr(self, name) for name in shared & self.model_fields_set}
        return {"type": "delta", **given, "path": self.place}

    def identity(self) -> dict[str, str | list[str]]:
        """A path is the same as its `file:` URL."""
        return super().identity() | ({} if self.place is None else {"path": self.place})

    @property
    def place(self) -> str | None:
        """`path` without `file:`, which a folder may have or not."""
        return None if self.path is None else plain_path(self.path)
