"""Names of tables, columns and types, where Spark and PySpark would read more into them, or something else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from cdckit_spark.own_session import with_settings

Batches = Iterator[pa.RecordBatch]

_REFERENCE = "${"
"""What begins a reference to a setting or a variable of the environment, also within a name between backticks."""
_SUBSTITUTES = "spark.sql.variable.substitute"
_INSTANT = re.compile(r"\btimestamp(?![\w:])")
"""The type; what a struct's members are called stands before a colon."""


def sql_type(kind: str) -> str:
    """A type by the name that it has in SQL whatever `spark.sql.timestampType` says `timestamp` is."""
    return _INSTANT.sub("timestamp_ltz", kind)


def verbatim(session: SparkSession, *texts: str) -> SparkSession:
    """A session that takes some texts in SQL as they are, with nothing put in the place of `${…}`."""
    if not any(_REFERENCE in text for text in texts):
        return session
    return with_settings(session, {_SUBSTITUTES: "false"})


def map_in_arrow(rows: DataFrame, function: Callable[[Batches], Batches], schema: StructType | str) -> DataFrame:
    """`mapInArrow` of rows whose columns may have any names; PySpark takes names there for what points at a column."""
    names = rows.columns

    def named(batches: Batches) -> Batches:
        return function(pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)

    return rows.toDF(*map(str, range(len(names)))).mapInArrow(named, schema)
