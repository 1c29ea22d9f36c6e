"""Snapshot, streaming in statements of 100 rows, and single-row transactions: CPU an event, peak memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import workload
from benchmarks.pipelines import Pipeline
from benchmarks.usage import Usage, run
from servers.mysql import MySQLServer

Command = Callable[[Pipeline, int], list[str]]
"""The command line that captures a number of events and ends."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One scenario of one system: what start-up alone takes is taken off."""

    scenario: str
    system: str
    events: int
    usage: Usage
    idle: Usage

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU an event."""
        return max(0.0, self.usage.cpu - self.idle.cpu) / self.events * 1e6

    @property
    def rate(self) -> float:
        """Events a second, start-up taken off."""
        return self.events / max(1e-9, self.usage.wall - self.idle.wall)


@dataclass(frozen=True, slots=True)
class System:
    """A system under test: its name and how it captures a number of events."""

    name: str
    command: Command
    options: tuple[tuple[str, str], ...] = ()


def cdckit(name: str = "cdckit", options: tuple[tuple[str, str], ...] = (), *arguments: str) -> System:
    """The direct runner, by default to the file sink."""
    return System(name, lambda pipeline, _events: pipeline.cdc("--once", *arguments), options)


def measure(server: MySQLServer, systems: list[System], folder: Path, scale: float) -> Iterator[Measured]:
    """All scenarios for all systems; `scale` multiplies the rows."""
    rows, inserted, updated, single = (int(n * scale) for n in (500_000, 300_000, 100_000, 40_000))
    workload.create(server, "nothing")
    idle = {system.name: _capture(server, system, folder / "idle", "nothing", 0) for system in systems}
    workload.create(server, "snapshot")
    workload.write(server, workload.inserts(0, rows, 500, "snapshot"))
    for system in systems:
        used = _capture(server, system, folder / "snapshot", "snapshot", rows)
        yield Measured("snapshot", system.name, rows, used, idle[system.name])
    bulk = [*workload.inserts(1, inserted, 100, "bulk"), *workload.updates(1, updated, 100, "bulk")]
    for system, used in _stream(server, systems, folder, "bulk", bulk, inserted + updated):
        yield Measured("stream, 100 rows a statement", system.name, inserted + updated, used, idle[system.name])
    ones = list(workload.inserts(1, single, 1, "single"))
    for system, used in _stream(server, systems, folder, "single", ones, single):
        yield Measured("stream, one row a transaction", system.name, single, used, idle[system.name])


def _stream(
    server: MySQLServer, systems: list[System], folder: Path, table: str, statements: list[str], events: int
) -> Iterator[tuple[System, Usage]]:
    """Every system takes a snapshot of one row, the workload runs while all are down, then each catches up."""
    workload.create(server, table)
    workload.write(server, workload.inserts(0, 1, table=table))
    for system in systems:
        _capture(server, system, folder / table, table, 1)
    workload.write(server, iter(statements))
    for system in systems:
        yield system, _capture(server, system, folder / table, table, events)


def _capture(server: MySQLServer, system: System, folder: Path, table: str, events: int) -> Usage:
    options = (("table.include.list", f"{workload.DATABASE}.{table}"), *system.options)
    pipeline = Pipeline(folder / system.name.replace(" ", "-"), server, options)
    pipeline.write()
    pipeline.output.unlink(missing_ok=True)
    used = run(system.command(pipeline, events), pipeline.folder / "run.log")
    _check(system, pipeline, events)
    pipeline.output.unlink(missing_ok=True)
    return used


def _check(system: System, pipeline: Pipeline, events: int) -> None:
    """A figure counts only if the work was done."""
    if not pipeline.output.exists():
        return
    with pipeline.output.open("rb") as lines:
        found = sum(1 for _ in lines)
    if found != events:
        raise AssertionError(f"{system.name} wrote {found} events, {events} were expected")
