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
    workload.create(server)
    idle = {system.name: _capture(server, system, folder / "idle", "initial", 0) for system in systems}
    workload.write(server, workload.inserts(0, rows, 500))
    for system in systems:
        used = _capture(server, system, folder / "snapshot", "initial", rows)
        yield Measured("snapshot", system.name, rows, used, idle[system.name])
    yield from _stream(
        server,
        systems,
        folder / "stream",
        idle,
        "stream, 100 rows a statement",
        inserted + updated,
        lambda: [*workload.inserts(rows, inserted), *workload.updates(rows, updated)],
    )
    first = rows + inserted
    yield from _stream(
        server,
        systems,
        folder / "single",
        idle,
        "stream, one row a transaction",
        single,
        lambda: [*workload.inserts(first, single, 1)],
    )


def _stream(
    server: MySQLServer,
    systems: list[System],
    folder: Path,
    idle: dict[str, Usage],
    scenario: str,
    events: int,
    statements: Callable[[], list[str]],
) -> Iterator[Measured]:
    """Every system notes where the log ends, the workload runs while all are down, then each catches up."""
    for system in systems:
        _capture(server, system, folder, "no_data", 0)
    workload.write(server, iter(statements()))
    for system in systems:
        used = _capture(server, system, folder, "no_data", events)
        yield Measured(scenario, system.name, events, used, idle[system.name])


def _capture(server: MySQLServer, system: System, folder: Path, mode: str, events: int) -> Usage:
    options = (("snapshot.mode", mode), *system.options)
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
