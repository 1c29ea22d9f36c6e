"""What exactly-once costs beside at-least-once: `python -m benchmarks.exactly_once [--seconds 5] [--commits 300]`.

The sink alone, batch after batch; then pipelines on both runners, from the commit in MySQL to a reader of committed
records.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click
from rich.console import Console
from rich.table import Table

from benchmarks import latency
from benchmarks.kafka_sink import LOADS
from benchmarks.latency import Latency
from benchmarks.pipelines import PASSWORD, USER, Cdckit
from benchmarks.report import machine
from benchmarks.targets import KafkaTarget, Place
from cdckit.api.messages import Messages
from cdckit.api.sink import SinkContext
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.sink import KafkaSink
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer

GUARANTEES = ("at-least-once", "exactly-once")
RATES: dict[Literal["direct", "spark"], float] = {"direct": 50, "spark": 20}
"""Commits a second."""
_SIZES = (1, 100, 1000, 4000)
_COLUMNS = ("topics", "partitions", "keys", "values", "headers", "positions", "timestamps")
_PLACE = {"offset": {"file": "binlog.000001", "pos": 4, "gtids": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77"}}


@dataclass(frozen=True, slots=True)
class Cost:
    """What batches took: milliseconds until one was safe, in the median and its slowest hundredth; CPU a message."""

    guarantee: str
    size: int
    p50: float
    p99: float
    cpu_us: float


@click.command()
@click.option("--seconds", default=5.0, help="For how long each kind of batch is measured.")
@click.option("--commits", default=300, help="How many commits are watched on their way through each pipeline.")
def main(seconds: float, commits: int) -> None:
    """Measures batches of several sizes, each made safe before the next, and pipelines, by both guarantees."""
    with KafkaBroker(heap="512m", jvm=()) as broker:
        show(pipelines(broker, commits), batches(broker, seconds))


def batches(broker: KafkaBroker, seconds: float) -> list[Cost]:
    """What the sink alone takes, by both guarantees."""
    if seconds:
        broker.create_topic("bench", partitions=4, retention_bytes=64 << 20, segment_bytes=32 << 20)
        for guarantee in GUARANTEES:
            _measured(broker, guarantee, 1000, seconds)
    return [_measured(broker, guarantee, size, seconds) for size in _SIZES for guarantee in GUARANTEES if seconds]


class ExactTarget(KafkaTarget):
    """The Kafka sink with transactions; what arrives is what is committed."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """The part of the command line that names it."""
        once = {"delivery.guarantee": "exactly-once", "topic.creation.default.replication.factor": "1"}
        told = (part for name, value in once.items() for part in ("--set", f"sink.{name}={value}"))
        return (*super().arguments(place), *told)


def pipelines(broker: KafkaBroker, commits: int) -> list[Latency]:
    """How long single commits take to their reader on both runners, by both guarantees."""
    found = []
    with MySQLServer().start() as server, tempfile.TemporaryDirectory(prefix="cdckit-bench-") as folder:
        server.create_user(USER, PASSWORD)
        for runner, rate in RATES.items():
            for guarantee, kind in zip(GUARANTEES, (KafkaTarget, ExactTarget), strict=True):
                with closing(kind(broker)) as target:
                    system = Cdckit(f"{runner} {guarantee}", target, runner)
                    found.append(
                        latency.measure(server, system, Path(folder), commits=commits, rate=rate, idle_seconds=5)
                    )
                    Console(stderr=True).print(f"[dim]{found[-1]}[/]")
    return found


def _batch(size: int) -> Messages:
    columns = zip(*([getattr(batch, name) for name in _COLUMNS] for batch in LOADS[1].batches(size)), strict=True)
    return Messages(*([item for part in column for item in part] for column in columns))


def _measured(broker: KafkaBroker, guarantee: str, size: int, seconds: float) -> Cost:
    options = {"bootstrap.servers": broker.bootstrap, "delivery.guarantee": guarantee}
    config, _ = KafkaSinkConfig.load(options, "sink")
    taken: list[float] = []
    with closing(KafkaSink(config)) as sink:
        sink.open(SinkContext(f"bench-{guarantee}", once=True))
        batch, until, cpu = _batch(size), time.perf_counter() + seconds, time.process_time()
        while (started := time.perf_counter()) < until:
            sink.write(batch)
            if sink.transactions is None:
                sink.flush()
            else:
                sink.transactions.commit(_PLACE)
            taken.append((time.perf_counter() - started) * 1000)
        used = time.process_time() - cpu
    slowest = sorted(taken)[int(len(taken) * 0.99)]
    return Cost(guarantee, size, statistics.median(taken), slowest, used * 1e6 / (len(taken) * size))


def show(latencies: list[Latency], costs: list[Cost]) -> None:
    """Prints the tables."""
    console = Console(width=120)
    watched = Table(title=f"From a commit to a reader of committed records ({machine()})")
    for column in ("pipeline", "commits a second", "p50 ms", "p99 ms", "CPU of a core", "idle"):
        watched.add_column(column, justify="left" if column == "pipeline" else "right")
    for one in latencies:
        figures = (f"{one.p50:.1f}", f"{one.p99:.1f}", f"{one.busy_share:.1%}", f"{one.idle_share:.1%}")
        watched.add_row(one.system, f"{one.rate:g}", *figures)
    console.print(watched)
    table = Table(title=f"A batch written and made safe, the broker on the same machine ({machine()})")
    for column in ("messages a batch", "guarantee", "p50 ms", "p99 ms", "CPU µs a message"):
        table.add_column(column, justify="left" if column == "guarantee" else "right")
    for cost in costs:
        table.add_row(str(cost.size), cost.guarantee, f"{cost.p50:.1f}", f"{cost.p99:.1f}", f"{cost.cpu_us:.1f}")
    console.print(table)


if __name__ == "__main__":
    main()
