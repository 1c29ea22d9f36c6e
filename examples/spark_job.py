"""A Spark job of one's own over a database's changes: `python spark_job.py PIPELINE OUTPUT`.

It reads what the pipeline in the file PIPELINE captures (its sink is left aside), keeps for each change its table, its
operation and the price before and after it, and writes them as parquet files under OUTPUT. It ends at the log's end;
run it again, and it goes on from where it stopped, since Spark's checkpoint says how far it came.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession, functions as f

from cdckit.spark import CdckitDataSource


def main(pipeline: str, output: str) -> None:
    """Runs the job until the log's end."""
    spark = SparkSession.builder.appName("price changes").getOrCreate()
    spark.dataSource.register(CdckitDataSource)

    changes = spark.readStream.format("cdckit").option("pipeline", pipeline).option("endAtLogEnd", "true").load()
    event = f.from_json(
        f.col("value").cast("string"),
        "op string, before struct<id: bigint, price: string>, after struct<id: bigint, price: string>",
    )
    prices = (
        changes.select("topic", "position", event.alias("event"))
        .where("event.op is not null")  # tombstones and changes of definitions have none
        .select(
            "topic",
            "position",
            "event.op",
            f.coalesce("event.after.id", "event.before.id").alias("id"),
            f.col("event.before.price").alias("price_before"),
            f.col("event.after.price").alias("price_after"),
        )
    )
    query = (
        prices.writeStream.format("parquet")
        .option("path", f"{output}/prices")
        .option("checkpointLocation", f"{output}/checkpoint")
        .start()
    )
    query.processAllAvailable()
    query.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
