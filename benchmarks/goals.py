"""What each figure should be: what must be reached, and what would be better still."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.following import WARM
from benchmarks.latency import Latency
from benchmarks.measured import Measured
from benchmarks.systems import (
    DELTA,
    FILE,
    FILE_METRICS,
    FILE_SCHEMAS,
    KAFKA,
    MONGODB_SNAPSHOT,
    MONGODB_STREAM,
    PEER,
    PEER_SCHEMAS,
    SPARK_DELTA,
    SPARK_DELTA_FILES,
    SPARK_KAFKA,
)
from benchmarks.throughput import BULK, HUGE, MANY, SINGLE, SNAPSHOT

PEER_CPU_US = {SNAPSHOT: 45.0, BULK: 52.0, SINGLE: 150.0, MONGODB_SNAPSHOT: 73.0, MONGODB_STREAM: 91.0}
"""Debezium's CPU an event, for runs in which it is not measured beside."""
CPU_US_GOALS = {SNAPSHOT: 5.0, BULK: 6.0, SINGLE: 15.0, MONGODB_SNAPSHOT: 9.0, MONGODB_STREAM: 11.0}
SHARE_OF_THE_PEERS = {MONGODB_SNAPSHOT: 1 / 4, MONGODB_STREAM: 1 / 4}
"""What must be reached of the peer's CPU an event, where it is not a fifth."""
PEERS = {FILE: PEER, FILE_SCHEMAS: PEER_SCHEMAS}
SPARK_AGAINST = {SPARK_KAFKA: KAFKA, SPARK_DELTA: DELTA, SPARK_DELTA_FILES: DELTA}
"""On Spark, and the same work of the direct runner."""
MOST_OF_DIRECT = 1.5
"""So many times the direct runner's CPU an event Spark may take."""
LEAST_OF_ONE_PROCESSOR = 1.6
"""So many times the events a second of `local[1]` those of `local[2]` are to be."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure and its target.

    Attributes:
        name: what it is.
        value: what was measured.
        reach: the bound that must hold.
        goal: a harder one, or None.
        unit: of all three.
        at_least: whether the bounds are lower ones.
    """

    name: str
    value: float
    reach: float
    goal: float | None
    unit: str
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """`goal`, `reached` or `missed`."""
        if self.goal is not None and self._within(self.goal):
            return "goal"
        return "reached" if self._within(self.reach) else "missed"

    def _within(self, bound: float) -> bool:
        return self.value >= bound if self.at_least else self.value <= bound


def figures(measured: Sequence[Measured], latencies: Sequence[Latency]) -> list[Figure]:
    """All figures that have a target."""
    found = {(one.scenario, one.system): one for one in measured}
    return [
        *_cpu(found),
        *_memory(measured),
        *_kafka(found),
        *_beside(found),
        *_spark(found),
        *(figure for one in latencies for figure in _latency(one)),
    ]


def _cpu(found: dict[tuple[str, str], Measured]) -> Iterator[Figure]:
    for system, peer in PEERS.items():
        for scenario, goal in CPU_US_GOALS.items():
            if one := found.get((scenario, system)):
                beside = found.get((scenario, peer))
                share = SHARE_OF_THE_PEERS.get(scenario, 1 / 5)
                reach = (beside.cpu_us if beside else PEER_CPU_US[scenario]) * share
                yield Figure(f"{system}: {scenario}", one.cpu_us, reach, goal, "µs CPU an event")


def _memory(measured: Sequence[Measured]) -> Iterator[Figure]:
    own = [one for one in measured if one.system in (*PEERS, KAFKA)]
    usual = [one.usage.rss for one in own if one.scenario not in (HUGE, MANY)]
    huge = [one.usage.rss for one in own if one.scenario == HUGE]
    if usual:
        yield Figure("direct: peak RSS, one table", max(usual), 120, None, "MiB")
    if huge:
        yield Figure("direct: peak RSS, one huge transaction", max(huge), 300, None, "MiB")


def _beside(found: dict[tuple[str, str], Measured]) -> Iterator[Figure]:
    """What metrics cost, and what a hundred tables do."""
    for scenario in (BULK, SINGLE):
        one, without = found.get((scenario, FILE_METRICS)), found.get((scenario, FILE))
        if one is not None and without is not None:
            yield Figure(f"{FILE_METRICS}: {scenario}, against off", one.cpu_us / without.cpu_us, 1.01, None, "times")
    many, bulk = found.get((MANY, FILE)), found.get((BULK, FILE))
    if many is not None and bulk is not None:
        yield Figure(f"{FILE}: 100 tables against one", many.cpu_us / bulk.cpu_us, 1.25, None, "times")


def _kafka(found: dict[tuple[str, str], Measured]) -> Iterator[Figure]:
    for scenario in (SNAPSHOT, BULK):
        one = found.get((scenario, KAFKA))
        if one is not None and one.rate is not None:
            yield Figure(f"{KAFKA}: {scenario}", one.rate, 80_000, None, "events/s", at_least=True)


def _spark(found: dict[tuple[str, str], Measured]) -> Iterator[Figure]:
    for system, other in SPARK_AGAINST.items():
        one, against = found.get((WARM, system)), found.get((WARM, other))
        if one is not None and against is not None:
            yield spark_against(f"{system}, {WARM}", one.cpu_us / against.cpu_us, other)


def spark_against(measured: str, times: float, other: str = "the direct runner") -> Figure:
    """What an event costs on Spark, by what it costs another one."""
    return Figure(f"{measured}: CPU an event by that of {other}", times, MOST_OF_DIRECT, None, "times")


def second_processor(measured: str, times: float) -> Figure:
    """What a second processor adds to Spark's events a second."""
    name = f"{measured}: events/s of local[2] by those of local[1]"
    return Figure(name, times, LEAST_OF_ONE_PROCESSOR, None, "times", at_least=True)


def _latency(one: Latency) -> Iterator[Figure]:
    at = f"{one.system} at {one.rate:.0f} commits/s"
    if one.system == FILE:
        yield Figure(f"{at}: p50", one.p50, 3, None, "ms")
        yield Figure(f"{at}: p99", one.p99, 20, None, "ms")
        yield Figure(f"{one.system}: first event after start", one.first_event, 1, None, "s")
    if one.system == SPARK_KAFKA:
        yield Figure(f"{at}: p50", one.p50, 500, None, "ms")
        yield Figure(f"{one.system}: idle", one.idle_share * 100, 2, None, "% of a core")
