"""What the data source's writers are given, without Spark's JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.types import StructType, _parse_datatype_string

from cdckit.engine.spark.arrow import ARROW_SCHEMA, SPARK_SCHEMA
from cdckit.engine.spark.staged import Share
from cdckit.engine.spark.writers import StreamWriter
from cdckit.spark import CdckitDataSource

NAMES = ARROW_SCHEMA.names
Values = Sequence[Any]
"""One row's, in the order of the data source's columns."""


def schema_of(ddl: str = SPARK_SCHEMA) -> StructType:
    """A schema from Spark's DDL, for which no session is needed where types are plain."""
    schema = _parse_datatype_string(ddl)
    assert isinstance(schema, StructType)
    return schema


def stream_writer(options: Mapping[str, str], schema: StructType) -> StreamWriter:
    """A stream's writer, as Spark makes it."""
    writer = CdckitDataSource(options).streamWriter(schema, overwrite=False)
    assert isinstance(writer, StreamWriter)
    return writer


def arrow(rows: Sequence[Values], size: int = 1000) -> Iterator[pa.RecordBatch]:
    """Rows as Spark 4.2 gives them, some in each batch."""
    for at in range(0, len(rows), size):
        columns = zip(*rows[at : at + size], strict=True)
        arrays = [pa.array([*column], kind) for column, kind in zip(columns, ARROW_SCHEMA.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def spark_rows(rows: Sequence[Values]) -> Iterator[Row]:
    """Rows as Spark 4.0 gives them to a stream."""
    for values in rows:
        *_, headers, moment, position = values
        pairs = None if headers is None else [Row(key=one["key"], value=one["value"]) for one in headers]
        local = None if moment is None else moment.astimezone().replace(tzinfo=None)
        yield Row(*NAMES)(*values[:4], pairs, local, position)


def message(topic: str, key: str | None, value: str | None, position: str | None = None) -> Values:
    """A row with these alone."""
    return topic, None, key and key.encode(), value and value.encode(), None, None, position


def shares(writer: StreamWriter, *parts: Sequence[Values], query: str = "q") -> list[Any]:
    """What the tasks of a query's batch answer, each with some rows."""
    made = [writer.write(arrow(part)) for part in parts]
    return [replace(share, query=query) for share in made if isinstance(share, Share)]
