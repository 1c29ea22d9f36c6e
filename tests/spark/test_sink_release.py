"""What the sink asks of Spark, which releases of Spark are asked for differently."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    DecimalType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from cdckit_spark.release import arrow_schema, json_schema


def test_timestamps_are_utcs() -> None:
    columns = StructType().add("at", TimestampType()).add("local", TimestampNTZType()).add("price", DecimalType(10, 2))
    assert arrow_schema(columns).types == [pa.timestamp("us", tz="UTC"), pa.timestamp("us"), pa.decimal128(10, 2)]


@pytest.mark.spark
def test_a_schema_is_inferred_of_texts(session: SparkSession) -> None:
    texts = session.createDataFrame([('{"a": 1, "none": null}',), ('{"b": "x"}',)], "text string")
    assert json_schema(texts) == StructType([StructField("a", LongType()), StructField("b", StringType())])
