"""What batches with a row for each of many Delta tables cost on Spark: `python -m benchmarks.many_tables`.

The sink alone, which is handed packets as a runner hands them: Spark writes all tables, then the driver does.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import click
import psutil
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from benchmarks.report import machine
from cdckit import INT32, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Record, Struct, struct_schema
from cdckit.engine.spark.session import start_session
from cdckit.tables.context import TableContext
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.packets import PACKET_SCHEMA, table_packets
from cdckit_spark.config import LakeConfig
from cdckit_spark.sink import LakeSink

Mode = Literal["changelog", "mirror"]
MODES: tuple[Mode, ...] = ("changelog", "mirror")

_KEY = struct_schema("Key", {"id": INT32})
_ROW = struct_schema("Value", {"id": INT32, "name": OPTIONAL_STRING, "email": OPTIONAL_STRING}, optional=True)
_SOURCE = struct_schema("Source", {"ts_ms": OPTIONAL_INT64, "db": STRING, "table": STRING})
_ENVELOPE = struct_schema("Envelope", {"before": _ROW, "after": _ROW, "source": _SOURCE, "op": STRING})


class Cost(NamedTuple):
    """Of one batch: seconds on the clock and of CPU (Python and Java), and jobs of Spark."""

    wall: float
    cpu: float
    jobs: int


@click.command()
@click.option("--tables", default=500, show_default=True, help="How many tables the driver writes.")
@click.option("--spark-tables", default=24, show_default=True, help="How many both write; 0 leaves Spark out.")
@click.option("--mode", "modes", multiple=True, type=click.Choice(MODES), default=MODES, help="All by default.")
def main(tables: int, spark_tables: int, modes: tuple[Mode, ...]) -> None:
    """Writes three batches with a row for each table, and shows what the first and the last of them took."""
    report = Table(title=f"A row for each table ({machine()})")
    for column in ("mode", "written by", "tables", "batch", "seconds", "CPU s", "CPU ms a table", "jobs"):
        report.add_column(column, justify="left" if column in {"mode", "written by"} else "right")
    session = start_session("bench", {"spark.master": "local[2]"}, delta=True)
    session.sparkContext.setLogLevel("ERROR")
    runs = [("Spark", 0, spark_tables), ("the driver", 50_000, spark_tables), ("the driver", 50_000, tables)]
    for mode in modes:
        for writer, small, count in runs:
            if count:
                for name, cost in _measured(session, mode, small, count):
                    shares = (f"{cost.wall:.1f}", f"{cost.cpu:.1f}", f"{cost.cpu / count * 1000:.0f}", str(cost.jobs))
                    report.add_row(mode, writer, str(count), name, *shares)
                    Console(stderr=True).print(mode, writer, count, name, *shares)
    Console().print(report)


def _measured(session: SparkSession, mode: Mode, small: int, count: int) -> Iterator[tuple[str, Cost]]:
    with tempfile.TemporaryDirectory() as folder:
        sink = _sink(session, Path(folder), mode, small)
        for number, name in enumerate(("that makes them", "", "of updates")):
            packets = _packets(session, mode, count, number)
            started = (time.perf_counter(), _cpu(), _jobs(session))
            sink.write(packets, number)
            if name:
                wall, cpu, jobs = time.perf_counter() - started[0], _cpu() - started[1], _jobs(session) - started[2]
                yield name, Cost(wall, cpu, jobs)
        sink.close()


def _sink(session: SparkSession, lake: Path, mode: Mode, small: int) -> LakeSink:
    config, _ = LakeConfig.load({"path": str(lake), "mode": mode, "small.batch.rows": small}, "sink")
    sink = LakeSink(config)
    sink.open(session, TableContext("bench", "1"))
    return sink


def _packets(session: SparkSession, mode: Mode, count: int, batch: int) -> DataFrame:
    records = (_record(f"t{table}", table, batch) for table in range(count))
    packets = [packet for record in records for packet in TableEncoder(mode, "gone")([record])]
    return session.createDataFrame(pa.Table.from_batches([table_packets(packets)]).to_pandas(), PACKET_SCHEMA)


def _record(topic: str, table: int, batch: int) -> Record:
    row = Struct(_ROW, (1, f"name {batch}", f"user{table}@example.com"))
    value = Struct(_ENVELOPE, (None, row, Struct(_SOURCE, (1, "d", topic)), "u" if batch else "c"))
    return Record(topic, Struct(_KEY, (1,)), value, position=f"{batch:06d}.{table:06d}")


def _cpu() -> float:
    """Seconds of this process and of all that it has started."""
    root = psutil.Process()
    times = [process.cpu_times() for process in (root, *root.children(recursive=True))]
    return float(sum(one.user + one.system for one in times))


def _jobs(session: SparkSession) -> int:
    return int(session.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


if __name__ == "__main__":
    main()
