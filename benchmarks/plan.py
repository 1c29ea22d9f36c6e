"""What is measured, part by part."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console

from benchmarks import chains, debezium, exactly_once, following, latency, mirror, serializing, transforms
from benchmarks.debezium import Debezium
from benchmarks.latency import Latency
from benchmarks.measured import Measured, System
from benchmarks.mongodb import MongoBench
from benchmarks.pipelines import METRICS, NO_SCHEMAS, PASSWORD, USER, Cdckit
from benchmarks.systems import (
    DELTA,
    FILE,
    FILE_METRICS,
    FILE_SCHEMAS,
    KAFKA,
    MIRROR,
    PEER,
    PEER_SCHEMAS,
    SPARK_DELTA,
    SPARK_DELTA_FILES,
    SPARK_KAFKA,
)
from benchmarks.targets import DeltaTarget, FileTarget, KafkaTarget
from benchmarks.throughput import Bench, CatchUp
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer

PARTS = (
    "direct", "kafka", "delta", "spark", "latency", "mongodb", "peer",
    "transforms", "chains", "serializing", "exactly-once",
)  # fmt: skip

SNAPSHOT_ROWS = 500_000
INSERTED, UPDATED = 300_000, 100_000
SINGLE_ROWS = 40_000
HUGE_ROWS = 500_000
COMMITS = 2000
DOCUMENTS = 200_000
RECORDS = 50_000
"""For transforms and serializers by themselves."""
GUARANTEED = 300
"""Commits that are watched by each guarantee."""
GUARANTEED_SECONDS = 5.0
MIRRORED, CHANGED = 1_000_000, 100_000
TEN_ROW_COMMITS = 300

BROKER_HEAP = "512m"
WRITE_TIMEOUT_SECONDS = 600
"""A pipeline that is halted takes nothing from the server."""


class Plan:
    """Runs the parts that are wanted against one server of a kind and one broker.

    Args:
        parts: of `PARTS`.
        folder: for all that the pipelines keep.
        scale: multiplies the number of rows.

    Attributes:
        measured: what was found.
        latencies: what was found.
    """

    def __init__(self, parts: Collection[str], folder: Path, scale: float) -> None:
        self.measured: list[Measured] = []
        self.latencies: list[Latency] = []
        self._parts = parts
        self._folder = folder
        self._scale = scale
        self._stack = ExitStack()
        self._console = Console(stderr=True)

    def __enter__(self) -> Self:
        if self._wants("direct", "kafka", "delta", "spark", "latency"):
            options = {"binlog_rows_query_log_events": False, "net_write_timeout": WRITE_TIMEOUT_SECONDS}
            self._server = self._stack.enter_context(MySQLServer().start(**options))
            self._server.create_user(USER, PASSWORD)
        self._file = FileTarget()
        if self._wants("kafka", "spark", "latency"):
            self._kafka = KafkaTarget(self._stack.enter_context(KafkaBroker(heap=BROKER_HEAP, jvm=())))
            self._stack.callback(self._kafka.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def run(self) -> None:
        """Measures."""
        if self._wants("kafka"):
            self._warm_broker()
        if self._wants("direct", "kafka", "delta"):
            self._throughput(Bench(self._server, list(self._systems()), self._folder / "throughput"))
        if self._wants("delta"):
            self._delta()
        if self._wants("spark"):
            self._warm()
        if self._wants("latency"):
            self._latency()
        if self._wants("mongodb"):
            self._mongodb()
        self._parts_alone()

    def _wants(self, *parts: str) -> bool:
        return any(part in self._parts for part in parts)

    def _systems(self) -> Iterable[System]:
        if self._wants("direct"):
            yield CatchUp(Cdckit(FILE, self._file))
            yield CatchUp(Cdckit(FILE_SCHEMAS, self._file, options=()))
            yield CatchUp(Cdckit(FILE_METRICS, self._file, settings=METRICS))
        if self._wants("kafka"):
            yield CatchUp(Cdckit(KAFKA, self._kafka))
        if self._wants("delta"):
            yield CatchUp(Cdckit(DELTA, DeltaTarget("delta")))
        yield from self._peers()

    def _peers(self) -> Iterable[Debezium]:
        if self._wants("peer") and debezium.installed():
            yield Debezium(PEER, NO_SCHEMAS)
            yield Debezium(PEER_SCHEMAS, ())

    def _throughput(self, bench: Bench) -> None:
        self._take(bench.snapshot(self._rows(SNAPSHOT_ROWS)))
        self._take(bench.bulk(self._rows(INSERTED), self._rows(UPDATED)))
        self._take(bench.single(self._rows(SINGLE_ROWS)))
        self._take(bench.huge(self._rows(HUGE_ROWS)))
        self._take(bench.many(self._rows(INSERTED)))

    def _warm_broker(self) -> None:
        """A broker that was just started compiles its own code first; that is not what is measured."""
        self._tell("warming the broker")
        warming = Bench(self._server, [CatchUp(Cdckit(KAFKA, self._kafka))], self._folder / "warming", starts=1)
        for _ in warming.snapshot(self._rows(SNAPSHOT_ROWS)):
            pass

    def _warm(self) -> None:
        kafka, delta = self._kafka, DeltaTarget("delta")
        systems = (
            Cdckit(KAFKA, kafka), Cdckit(SPARK_KAFKA, kafka, "spark"),
            Cdckit(DELTA, delta), Cdckit(SPARK_DELTA, DeltaTarget(), "spark"),
            Cdckit(SPARK_DELTA_FILES, delta, "spark"),
        )  # fmt: skip
        for system in systems:
            load = (self._rows(INSERTED), self._rows(UPDATED))
            self._take([following.measure(self._server, system, self._folder / "warm", *load)])

    def _delta(self) -> None:
        """What changes cost a mirror, and how soon commits of ten rows are in a changelog."""
        system = Cdckit(MIRROR, DeltaTarget("delta", "mirror"))
        self._take(
            [mirror.measure(self._server, system, self._folder / "mirror", self._rows(MIRRORED), self._rows(CHANGED))]
        )
        tail = Cdckit(DELTA, DeltaTarget("delta"))
        commits = max(20, self._rows(TEN_ROW_COMMITS))
        self.latencies.append(
            latency.measure(
                self._server, tail, self._folder / "tail", commits=commits, rate=10, idle_seconds=5, rows=10
            )
        )

    def _latency(self) -> None:
        for system, rate, idle in (
            (Cdckit(FILE, self._file), 200, 5),
            (Cdckit(KAFKA, self._kafka), 200, 5),
            (Cdckit(SPARK_KAFKA, self._kafka, "spark"), 50, 25),
        ):
            commits = max(20, self._rows(COMMITS))
            self._tell(f"latency, {system.name}")
            self.latencies.append(
                latency.measure(
                    self._server, system, self._folder / "latency", commits=commits, rate=rate, idle_seconds=idle
                )
            )

    def _parts_alone(self) -> None:
        """What prints its own tables."""
        if self._wants("transforms"):
            transforms.show(self._rows(RECORDS))
        if self._wants("chains"):
            chains.show(self._rows(RECORDS))
        if self._wants("serializing"):
            serializing.show(self._rows(RECORDS))
        if self._wants("exactly-once"):
            with KafkaBroker(heap=BROKER_HEAP, jvm=()) as broker:
                commits = max(20, self._rows(GUARANTEED))
                exactly_once.show(
                    exactly_once.pipelines(broker, commits),
                    exactly_once.batches(broker, GUARANTEED_SECONDS * self._scale),
                )

    def _mongodb(self) -> None:
        own = (Cdckit(FILE, self._file), Cdckit(FILE_SCHEMAS, self._file, options=()))
        systems: list[System] = [*map(CatchUp, own), *self._peers()]
        with MongoReplicaSet() as server:
            self._take(MongoBench(server, systems, self._folder / "mongodb").run(self._rows(DOCUMENTS)))

    def _rows(self, rows: int) -> int:
        return max(1, round(rows * self._scale))

    def _take(self, measured: Iterable[Measured]) -> None:
        for one in measured:
            self._tell(f"{one.scenario}, {one.system}: {one.cpu_us:.2f} µs")
            self.measured.append(one)

    def _tell(self, what: str) -> None:
        self._console.print(f"[dim]{what}[/]")
