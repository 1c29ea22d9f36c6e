"""A series of faults, played one after another on one server and one pipeline of each lane."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from cdckit_faults.drivers.driver import Driver
from cdckit_faults.harm.disk import disk
from cdckit_faults.history.findings import BrokenPromiseError, Finding, Verdict
from cdckit_faults.kinds.kind import Fault
from cdckit_faults.stage import NewDriver, Place, Stage
from testkit.servers.kafka import KafkaBroker
from testkit.servers.spark_cluster import SparkCluster
from testkit.topology import topology


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a fault has shown.

    Attributes:
        fault: which one.
        findings: what was wrong; nothing, where all held.
        notes: what happened, for the table.
        records: how many records arrived meanwhile.
        repeated: how many of them came again, as they may.
        seconds: how long it took, until all had arrived.
    """

    fault: Fault
    findings: Sequence[Finding]
    notes: Sequence[str]
    records: int
    repeated: int
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """The first thing that was wrong."""
        return self.findings[0].verdict if self.findings else Verdict.HELD


@dataclass(frozen=True, slots=True)
class Product:
    """What is driven: a driver for each lane, by the lane's name, and what makes one.

    Attributes:
        drivers: the product's.
        made: makes a driver of a class; a twin makes one that is wrong.
    """

    drivers: Sequence[type[Driver]]
    made: Callable[[type[Driver]], NewDriver] = lambda driver: driver

    def of(self, lane: str) -> NewDriver:
        """What makes the driver of a lane."""
        return self.made(next(driver for driver in self.drivers if driver.lane == lane))


def played(product: Product, faults: Sequence[Fault], seed: int, patience: float | None = None) -> Iterator[Outcome]:
    """Plays faults, lane by lane, and tells of each when it is over.

    Args:
        product: what is driven.
        faults: which its drivers take.
        seed: of the load.
        patience: how many seconds a pipeline may take to come to the end of the log, once nothing arrives;
            None: what its driver says.

    Raises:
        AssertionError: the pipeline does not even come up.
        ServerUnavailableError: a server can neither be found nor fetched.
    """
    in_lanes = sorted(faults, key=lambda fault: fault.kind.lane, reverse=True)  # what costs most comes first
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cdckit-faults-")))
        servers = stack.enter_context(topology(servers=max(fault.kind.servers for fault in faults)))
        for lane, found in groupby(in_lanes, key=lambda fault: fault.kind.lane):
            with _place(folder / lane, lane) as (made, broker, cluster), disk(made / "data") as data:
                place = Place(servers, f"faults_{lane}", made, data, broker, cluster)
                yield from _on(Stage(place, product.of(lane), seed, patience), list(found))


@contextmanager
def _place(folder: Path, lane: str) -> Iterator[tuple[Path, KafkaBroker | None, SparkCluster | None]]:
    folder.mkdir()
    with ExitStack() as stack:
        broker = stack.enter_context(KafkaBroker()) if lane == "kafka" else None
        cluster = stack.enter_context(SparkCluster()) if lane == "spark" else None
        yield folder, broker, cluster


def _on(stage: Stage, faults: Sequence[Fault]) -> Iterator[Outcome]:
    with stage.opened():
        for fault in faults:
            yield _played(stage, fault)


def _played(stage: Stage, fault: Fault) -> Outcome:
    """Plays one fault while the load writes, and judges it when all of it has arrived."""
    chance = random.Random(fault.seed)
    judge, began = stage.judge, time.monotonic()
    records, repeated = judge.records, judge.repeated
    stage.notes, stage.ends_as = [], None
    findings: list[Finding] = []
    stage.allow_reconnecting()
    stage.load.release()
    try:
        time.sleep(chance.uniform(0.05, 0.4))
        fault.kind.play(stage, chance)
        time.sleep(chance.uniform(0, 0.2))
        stage.go_on()
    except BrokenPromiseError as wrong:
        findings.append(wrong.finding)
    finally:
        stage.load.hold()
    findings += _drained(stage, known=bool(findings))
    seconds = time.monotonic() - began
    return Outcome(fault, findings, stage.notes, judge.records - records, judge.repeated - repeated, seconds)


def _drained(stage: Stage, *, known: bool) -> list[Finding]:
    """What is wrong once everything has had its time to arrive; the next fault finds a pipeline that runs."""
    findings: list[Finding] = []
    try:
        if not known:
            stage.drain()
    except BrokenPromiseError as wrong:
        findings.append(wrong.finding)
    if known or findings:
        stage.take()
        findings += [found for found in stage.settle() if found.verdict is not Verdict.LOST]
        stage.load.release()
        stage.recover()
        stage.go_on()
        stage.load.hold()
        stage.drain()
        stage.settle()
    else:
        findings += stage.settle()
    return findings
