"""The newest change of each key of a Debezium topic merged into a Delta table, as it is commonly written by hand.

`benchmarks.lake` runs it, with BOOTSTRAP TOPIC TABLE CHECKPOINT MESSAGES SECONDS. It ends once so many messages of the
topic are in the table; a batch begins so many seconds behind the one before, 0: as soon as that is done.
"""

from __future__ import annotations

import json
import sys
import time

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession, functions as f
from pyspark.sql.streaming.query import StreamingQuery

from cdckit.engine.spark.session import start_session
from testkit.servers.downstream import spark_kafka_jars

_ROW = """
id INT, name STRING, email STRING, price STRING, big BIGINT, d DOUBLE, dt BIGINT, ts STRING, flag SMALLINT, e STRING
"""
"""As Debezium's JSON has it: decimals as texts, DATETIME(6) in microseconds."""
_CHANGE = f"op STRING, before STRUCT<{_ROW}>, after STRUCT<{_ROW}>"
_COLUMNS = """
id INT, name STRING, email STRING, price DECIMAL(10, 2), big BIGINT, d DOUBLE, dt TIMESTAMP, ts TIMESTAMP,
flag SMALLINT, e STRING
"""


def newest_of(batch: DataFrame) -> DataFrame:
    """The newest row of each key, typed, and whether it is gone."""
    text = f.col("value").cast("string")
    changes = batch.where("value IS NOT NULL").select("offset", f.from_json(text, _CHANGE).alias("change"))
    rows = changes.select(
        "offset",
        (f.col("change.op") == "d").alias("gone"),
        f.coalesce("change.after", "change.before").alias("row"),
    )
    newest = rows.groupBy("row.id").agg(f.max_by(f.struct("gone", "row"), "offset").alias("newest"))
    return newest.select("newest.gone", "newest.row.*").withColumns(
        {
            "price": f.col("price").cast("DECIMAL(10, 2)"),
            "dt": f.timestamp_micros("dt"),
            "ts": f.col("ts").cast("TIMESTAMP"),
        }
    )


def merge(session: SparkSession, table: str, batch: DataFrame) -> None:
    """Has the table follow a batch of messages."""
    changed = DeltaTable.forPath(session, table).alias("t").merge(newest_of(batch).alias("n"), "t.id = n.id")
    changed = changed.whenMatchedDelete("n.gone").whenMatchedUpdateAll()
    changed.whenNotMatchedInsertAll("NOT n.gone").execute()


def _merged(query: StreamingQuery) -> int:
    """How many of the topic's messages are in the table."""
    progress = query.lastProgress
    offsets = json.loads(progress["sources"][0]["endOffset"] or "null") if progress else None
    return sum(sum(partitions.values()) for partitions in (offsets or {}).values())


def main(bootstrap: str, topic: str, table: str, checkpoint: str, messages: str, seconds: str) -> None:
    """Follows the topic."""
    # The same session as cdckit's, with the same settings.
    jars = ",".join(map(str, spark_kafka_jars()))
    session = start_session("lake", {"spark.master": "local[2]", "spark.jars": jars}, delta=True)
    session.sql(f"CREATE TABLE IF NOT EXISTS delta.`{table}` ({_COLUMNS}) USING delta")
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    stream = session.readStream.format("kafka").options(**options).load()
    written = stream.writeStream.foreachBatch(lambda batch, _: merge(session, table, batch))
    query = written.option("checkpointLocation", checkpoint).trigger(processingTime=f"{seconds} seconds").start()
    while _merged(query) < int(messages):
        if not query.isActive:
            query.awaitTermination()  # which says why
        time.sleep(0.2)
    query.stop()
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
