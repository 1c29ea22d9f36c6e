"""What the Kafka sink costs by itself: `python -m benchmarks.kafka_sink [--messages 500000]`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks.report import machine
from cdckit.api.messages import EncodedHeaders, Messages
from cdckit.api.sink import SinkContext
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.sink import KafkaSink
from testkit.servers.kafka import KafkaBroker

_BATCH = 1000
_PARTITIONS = 4
_HEADERS: EncodedHeaders = (
    ("__debezium.context.connectorName", b'"mysql"'),
    ("__debezium.context.taskId", b'"0"'),
    ("__debezium.context.connectorLogicalName", b'"inventory"'),
)


@dataclass(frozen=True, slots=True)
class Load:
    """What is written.

    Attributes:
        name: for the table.
        size: bytes of each value.
        headers: shared by all messages.
        positions: whether each message has its own position header.
        options: of the sink.
    """

    name: str
    size: int = 300
    headers: EncodedHeaders = ()
    positions: bool = True
    options: tuple[tuple[str, Any], ...] = ()

    def batches(self, messages: int) -> Iterator[Messages]:
        """The messages in batches, with a key each."""
        value = (b'{"before":null,"after":{"id":1,"name":"x"},"op":"c"}' * 100)[: self.size]
        for start in range(0, messages, _BATCH):
            count = min(_BATCH, messages - start)
            numbers = range(start, start + count)
            yield Messages(
                topics=["bench"] * count,
                partitions=[None] * count,
                keys=[b'{"id":%d}' % number for number in numbers],
                values=[value] * count,
                headers=[self.headers] * count,
                positions=[f"{number:032d}" if self.positions else "" for number in numbers],
                timestamps=[None] * count,
            )


LOADS = (
    Load("no headers", positions=False),
    Load("position header"),
    Load("position and three shared headers", headers=_HEADERS),
    Load("position header, lz4", options=(("kafka.compression.type", "lz4"),)),
    Load("position header, 1 KB", size=1000),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one load took: microseconds a message, and messages a second until all were acknowledged."""

    write_us: float
    cpu_us: float
    rate: float


@click.command()
@click.option("--messages", default=500_000, help="How many messages of each kind.")
def main(messages: int) -> None:
    """Measures the Kafka sink against a broker on this machine."""
    with KafkaBroker(heap="512m", jvm=()) as broker:
        broker.create_topic("bench", partitions=_PARTITIONS, retention_bytes=64 << 20, segment_bytes=32 << 20)
        _throughput(broker, LOADS[1], messages // 5)
        found = [(load, _throughput(broker, load, messages)) for load in LOADS]
        alone = _round_trips(broker)
        starts = _starts(broker)
    _show(found, alone, starts)


def _opened(broker: KafkaBroker, load: Load) -> KafkaSink:
    config, _ = KafkaSinkConfig.load({"bootstrap.servers": broker.bootstrap, **dict(load.options)}, "sink")
    sink = KafkaSink(config)
    sink.open(SinkContext("bench", once=True))
    return sink


def _throughput(broker: KafkaBroker, load: Load, messages: int) -> Cost:
    batches = list(load.batches(messages))
    sink = _opened(broker, load)
    started, cpu, thread = time.perf_counter(), time.process_time(), time.thread_time()
    for batch in batches:
        sink.write(batch)
    write = time.thread_time() - thread
    sink.flush()
    wall, used = time.perf_counter() - started, time.process_time() - cpu
    sink.close()
    return Cost(write * 1e6 / messages, used * 1e6 / messages, messages / wall)


def _round_trips(broker: KafkaBroker, times: int = 300) -> float:
    """Milliseconds that one message takes to be acknowledged, in the median."""
    sink = _opened(broker, LOADS[1])
    taken = []
    for batch in list(LOADS[1].batches(times * _BATCH))[:times]:
        single = Messages(*(column[:1] for column in _columns(batch)))
        started = time.perf_counter()
        sink.write(single)
        sink.flush()
        taken.append((time.perf_counter() - started) * 1000)
        time.sleep(0.002)
    sink.close()
    return statistics.median(taken)


def _columns(batch: Messages) -> tuple[list[Any], ...]:
    return (
        batch.topics,
        batch.partitions,
        batch.keys,
        batch.values,
        batch.headers,
        batch.positions,
        batch.timestamps,
    )


def _starts(broker: KafkaBroker, times: int = 20) -> float:
    """Milliseconds from opening a sink to its first acknowledged message and its end, in the median."""
    taken = []
    [batch] = LOADS[1].batches(1)
    for _ in range(times):
        started = time.perf_counter()
        sink = _opened(broker, LOADS[1])
        sink.write(batch)
        sink.flush()
        sink.close()
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


def _show(found: Sequence[tuple[Load, Cost]], alone: float, starts: float) -> None:
    console = Console(width=120)
    table = Table(title=f"Kafka sink, the broker on the same machine ({machine()})")
    for column in ("load", "write: CPU µs a message", "process: CPU µs a message", "messages/s"):
        table.add_column(column, justify="left" if column == "load" else "right")
    for load, cost in found:
        table.add_row(load.name, f"{cost.write_us:.2f}", f"{cost.cpu_us:.2f}", f"{cost.rate:,.0f}")
    console.print(table)
    console.print(f"One message, written and flushed: {alone:.2f} ms. Open, one message, close: {starts:.0f} ms.")


if __name__ == "__main__":
    main()
