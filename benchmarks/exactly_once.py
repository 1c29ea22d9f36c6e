"""What exactly-once costs beside at-least-once: `python -m benchmarks.exactly_once [--seconds 5]`."""

from __future__ import annotations

import statistics
import time
from contextlib import closing
from dataclasses import dataclass

import click
from rich.console import Console
from rich.table import Table

from benchmarks.kafka_sink import LOADS
from benchmarks.report import machine
from cdckit.api.messages import Messages
from cdckit.api.sink import SinkContext
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.sink import KafkaSink
from testkit.servers.kafka import KafkaBroker

GUARANTEES = ("at-least-once", "exactly-once")
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
@click.option("--seconds", default=5.0, help="For how long each kind is measured.")
def main(seconds: float) -> None:
    """Measures batches of several sizes, each made safe before the next, by both guarantees."""
    with KafkaBroker(heap="512m", jvm=()) as broker:
        broker.create_topic("bench", partitions=4, retention_bytes=64 << 20, segment_bytes=32 << 20)
        for guarantee in GUARANTEES:
            _measured(broker, guarantee, 1000, seconds)
        costs = [_measured(broker, guarantee, size, seconds) for size in _SIZES for guarantee in GUARANTEES]
    _show(costs)


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


def _show(costs: list[Cost]) -> None:
    table = Table(title=f"A batch written and made safe, the broker on the same machine ({machine()})")
    for column in ("messages a batch", "guarantee", "p50 ms", "p99 ms", "CPU µs a message"):
        table.add_column(column, justify="left" if column == "guarantee" else "right")
    for cost in costs:
        table.add_row(str(cost.size), cost.guarantee, f"{cost.p50:.1f}", f"{cost.p99:.1f}", f"{cost.cpu_us:.1f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
