"""How decoding scales on Spark with a topic's partitions: `python -m benchmarks.ticdc_spark [--messages 400000]`."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click
from confluent_kafka import Producer
from pyspark.sql import SparkSession, functions as f
from rich.console import Console
from rich.table import Table

from benchmarks.report import machine
from benchmarks.ticdc import SHAPES, messages_of
from cdckit.engine.spark.session import start_session
from cdckit.spark import CdckitDataSource
from testkit.servers.kafka import KafkaBroker

_SHAPE = SHAPES[0]


@click.command()
@click.option("--messages", default=400_000, show_default=True, help="How many messages the topic holds.")
@click.option("--partitions", default=4, show_default=True, help="How many partitions the topic has.")
@click.option("--workers", multiple=True, type=int, default=(1, 2), help="Of how many processors; each is measured.")
def main(messages: int, partitions: int, workers: tuple[int, ...]) -> None:
    """Reads a topic of TiCDC's messages through the data source: each partition is a split, workers decode."""
    table = Table(title=f"{_SHAPE.name}: {messages:,} messages in {partitions} partitions ({machine()})")
    for column in ("Spark", "splits", "seconds", "messages/s"):
        table.add_column(column, justify="left" if column == "Spark" else "right")
    with KafkaBroker(heap="512m", jvm=()) as broker, tempfile.TemporaryDirectory() as folder:
        broker.create_topic("orders", partitions)
        _fill(broker, messages, partitions)
        for number in workers:
            splits, seconds = _measured(broker, number, Path(folder), messages)
            table.add_row(f"local[{number}]", str(splits), f"{seconds:.1f}", f"{messages / seconds:,.0f}")
    Console().print(table)


def _fill(broker: KafkaBroker, messages: int, partitions: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 20})
    made = messages_of(_SHAPE)
    for number in range(messages):
        message = made[number % len(made)]
        producer.produce("orders", message.value, message.key, number % partitions)
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()


def _measured(broker: KafkaBroker, workers: int, folder: Path, messages: int) -> tuple[int, float]:
    """Splits, and the seconds of the second of two reads: workers are warm then."""
    session = start_session("bench", {"spark.master": f"local[{workers}]"}, delta=False)
    session.dataSource.register(CdckitDataSource)
    try:
        _read(session, broker, workers, folder / f"warm-{workers}")
        started = time.perf_counter()
        splits, rows = _read(session, broker, workers, folder / f"measured-{workers}")
        seconds = time.perf_counter() - started
    finally:
        session.stop()
    if rows != messages:
        raise AssertionError(f"{rows} records were read, {messages} messages were written")
    return splits, seconds


def _read(session: SparkSession, broker: KafkaBroker, workers: int, state: Path) -> tuple[int, int]:
    """Reads all there is; the number of splits, and of records."""
    options = {
        "source.type": "ticdc",
        "source.protocol": _SHAPE.protocol,
        "source.bootstrap.servers": broker.bootstrap,
        "source.topics": "orders",
        "source.watermarks": "never",
        "serializer.schemas.enable": "false",
        "parallelism": str(max(2, workers)),
        "state": str(state),
    }
    counted = session.read.format("cdckit").options(**options).load().groupBy(f.spark_partition_id()).count().collect()
    return len(counted), sum(rows for _, rows in counted)


if __name__ == "__main__":
    main()
