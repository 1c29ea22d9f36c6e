"""Snapshot, streaming in statements of 100 rows, single-row transactions: each caught up with by a run of its own."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import workload
from benchmarks.measured import Measured, System
from benchmarks.pipelines import Cdckit, Options, Pipeline, Placed
from benchmarks.usage import Usage, run
from testkit.servers.mysql import MySQLServer

SNAPSHOT = "snapshot"
BULK = "stream, 100 rows a statement"
SINGLE = "stream, one row a transaction"
HUGE = "stream, one transaction"
MANY = "stream, 100 rows a statement, 100 tables"
TABLES = 100


@dataclass(frozen=True, slots=True)
class CatchUp:
    """cdckit under `--once`.

    Attributes:
        cdckit: with its runner and target.
        measure: runs a command whose output goes to a file, and says what it took.
    """

    cdckit: Cdckit
    measure: Callable[[Sequence[str], Path], Usage] = run

    @property
    def name(self) -> str:
        """For the table."""
        return self.cdckit.name

    @property
    def options(self) -> Options:
        """Of the connector."""
        return self.cdckit.options

    def capture(self, pipeline: Placed, events: int) -> Usage:
        """Runs up to the log's end and counts what arrived."""
        target, place = self.cdckit.target, pipeline.place
        before = target.count(place)
        used = self.measure(self.cdckit.command(pipeline, "--once"), pipeline.log)
        found = target.count(place) - before
        if found != events:
            raise AssertionError(f"{self.name} delivered {found} events, {events} were expected")
        target.clear(place)
        return used


class Bench:
    """Systems that do the same work one after another.

    Args:
        server: where the work is.
        systems: who does it.
        folder: where they keep their state.
        starts: how often a start without events is measured, with a snapshot and without; the median is taken off.
    """

    def __init__(self, server: MySQLServer, systems: Sequence[System], folder: Path, starts: int = 3) -> None:
        self._server = server
        self._systems = systems
        self._folder = folder
        self._repeats = starts
        workload.create(server, "nothing")
        self._starts = {system.name: self._measured_starts(system) for system in systems}

    def snapshot(self, rows: int) -> Iterator[Measured]:
        """A table of `rows` rows."""
        workload.create(self._server, "snapshot")
        workload.write(self._server, workload.inserts(0, rows, 500, "snapshot"))
        for system in self._systems:
            yield self._measured(SNAPSHOT, system, rows, self._capture(system, "snapshot", rows))

    def bulk(self, inserted: int, updated: int) -> Iterator[Measured]:
        """Inserts and updates in statements of 100 rows."""
        statements = workload.bulk("bulk", 1, inserted, updated)
        return self._stream(BULK, "bulk", statements, inserted + updated)

    def single(self, rows: int) -> Iterator[Measured]:
        """Transactions of one row."""
        return self._stream(SINGLE, "single", workload.inserts(1, rows, 1, "single"), rows)

    def huge(self, rows: int) -> Iterator[Measured]:
        """One transaction."""
        return self._stream(HUGE, "huge", workload.inserts(1, rows, 500, "huge"), rows, together=True)

    def many(self, rows: int) -> Iterator[Measured]:
        """Inserts in statements of 100 rows into 100 tables in turn."""
        names = [f"many_{number:02d}" for number in range(TABLES)]
        for name in names[1:]:
            workload.create(self._server, name)
        return self._stream(MANY, names[0], workload.spread(names, 1, rows), rows, captured="many_..")

    def _stream(
        self,
        scenario: str,
        table: str,
        statements: Iterator[str],
        events: int,
        *,
        captured: str = "",
        together: bool = False,
    ) -> Iterator[Measured]:
        """Every system takes a snapshot of one row, the work is done while all are down, then each catches up."""
        workload.create(self._server, table)
        workload.write(self._server, workload.inserts(0, 1, table=table))
        table = captured or table
        for system in self._systems:
            self._capture(system, table, 1)
        workload.write(self._server, statements, together=together)
        for system in self._systems:
            yield self._measured(scenario, system, events, self._capture(system, table, events))

    def _measured(self, scenario: str, system: System, events: int, used: Usage) -> Measured:
        first, again = self._starts[system.name]
        return Measured(scenario, system.name, events, used, first if scenario == SNAPSHOT else again)

    def _measured_starts(self, system: System) -> tuple[Usage, Usage]:
        """A first start, with the snapshot of an empty table, and one from a saved offset with nothing new."""
        firsts, others = [], []
        for number in range(self._repeats):
            firsts.append(self._capture(system, "nothing", 0, f"-{number}"))
            others.append(self._capture(system, "nothing", 0, f"-{number}"))
        return _median(firsts), _median(others)

    def _capture(self, system: System, table: str, events: int, suffix: str = "") -> Usage:
        name = f"{system.name}-{table}{suffix}".replace(" ", "-").replace(",", "")
        pipeline = Pipeline(self._folder / name, self._server, table, system.options)
        pipeline.write()
        return system.capture(pipeline, events)


def _median(used: Sequence[Usage]) -> Usage:
    return Usage(*(statistics.median(values) for values in zip(*((u.cpu, u.wall, u.rss) for u in used), strict=True)))
