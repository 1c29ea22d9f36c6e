"""What the sink asks of Spark by other names, or not at all, in releases before 4.2."""

from __future__ import annotations

from inspect import signature
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

# Spark 4.2 is told the time zone of timestamps; for 4.0 and 4.1 it is UTC where nothing is said.
_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


def arrow_schema(columns: StructType) -> pa.Schema:
    """The schema of Arrow batches with these columns, whose timestamps are UTC's."""
    return to_arrow_schema(columns, **_IN_UTC)


def json_schema(texts: DataFrame) -> StructType:
    """The schema that Spark infers of JSON, without fields that are null everywhere.

    Args:
        texts: a JSON object a row, in the only column.
    """
    reader = texts.sparkSession.read
    try:
        return reader.json(texts, dropFieldIfAllNull=True).schema
    except PySparkTypeError:  # Spark 4.0 and 4.1 take texts as an RDD alone, and so by way of Python
        return reader.json(texts.rdd.map(itemgetter(0)), dropFieldIfAllNull=True).schema
