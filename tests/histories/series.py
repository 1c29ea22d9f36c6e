"""Plays the histories of seeds, and tells of each that fails in as few steps as it fails in."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from uuid import uuid4

from pyspark.sql import SparkSession

from histories.generator import AROUND, history, with_around, with_failover, with_vacuum
from histories.lakes import (
    DeltaChangelog,
    DeltaMirror,
    DeltaVersions,
    IcebergChangelog,
    IcebergMirror,
    IcebergVersions,
    Tables,
)
from histories.on_spark import (
    Changelog,
    DriversIcebergChangelog,
    DriversIcebergMirror,
    DriversMirror,
    FiledChangelog,
    HandedOverChangelog,
    HandedOverMirror,
    Mirror,
    SignalledChangelog,
    SignalledMirror,
    WorkersChangelog,
)
from histories.playing import FailOver, Play, failure
from histories.rows import keys_of
from histories.shrinking import shrunk
from histories.sinks import File, Kafka, Sink
from histories.steps import Step, written
from histories.switches import LAKES, MAPLESS, ON_SPARK, PATHS, around_of, kinds_of
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql_family import SQLServer

EVENTS = ("file", "kafka")
"""The sinks that keep no tables."""
SINKS = (
    *EVENTS,
    *LAKES,
    "delta",
    "delta-changelog",
    "iceberg",
    "iceberg-changelog",
    "delta-history",
    "iceberg-history",
    *PATHS,
)


_FEW_ROWS = 5
"""How many rows a batch of a snapshot has on Spark, for seeds that are odd: fewer than tables have at first."""


@dataclass
class Series:
    """Histories of one server into sinks of one kind.

    Attributes:
        server: where their databases are.
        sink: the sink's name.
        folder: of all files.
        broker: where topics go.
        session: where lakes are written.
        kinds: the kinds of steps; None for those that are switched on.
        shrinks: for how many seconds a shorter history is looked for.
        fail_over: has the server die, and gives the one that takes over, whose replicas follow it.
        small: how many steps a small history has; None for long ones.
        afterwards: drops the databases of the histories that were asked for; None: that is done at once.
        around: whether they have what happens around a pipeline, too.
        told: what the last history came to beside what went wrong: deliveries, refused statements, commands obeyed,
            failovers in the middle of a delivery.
    """

    server: SQLServer
    sink: str
    folder: Path
    broker: Callable[[], KafkaBroker]
    session: Callable[[], SparkSession]
    kinds: Collection[str] | None = None
    shrinks: float = 120
    small: int | None = None
    fail_over: FailOver | None = None
    afterwards: ExitStack | None = None
    around: bool = False
    told: str = ""

    def __post_init__(self) -> None:
        self._batch_rows = 0
        self._names = (f"h_{uuid4().hex[:8]}_{number}" for number in itertools.count(1))

    def steps(self, seed: int) -> list[Step]:
        """The history of a seed."""
        kinds = self.kinds or kinds_of(self.sink, replicas=self.fail_over is not None)
        steps = history(seed, kinds, 2 if self.sink in ON_SPARK else 4, self.small)
        steps = with_failover(seed, steps) if self.fail_over else steps
        steps = with_vacuum(seed, steps) if self.kinds is None and self.sink not in EVENTS else steps
        mapless = self.sink in MAPLESS
        if self.around and (around := around_of(self.sink).intersection(self.kinds or AROUND)):
            steps, mapless = with_around(seed, steps, around), True
        return [step.renamed("with space", "with-space") for step in steps] if mapless else steps

    def report(self, seed: int) -> str:
        """What goes wrong in the history of a seed, and a short one in which it does; "" where nothing does."""
        self._batch_rows = _FEW_ROWS * (seed % 2)
        return self.report_of(self.steps(seed), f"seed {seed}")

    def report_of(self, steps: Sequence[Step], title: str) -> str:
        """The same for steps."""
        play = self._play()
        said = failure(lambda: play, steps, self.afterwards)
        told = f"{play.delivered} deliveries, {play.refused} refused statements, {play.obeyed} commands obeyed"
        self.told = f"{told}, {play.interrupted} failovers in the middle of a delivery" if self.fail_over else told
        if not said:
            return ""
        short, said = shrunk(steps, said, self._failing_like(said), self.shrinks)
        heading = f"{title}, sink {self.sink}, {len(short)} of {len(steps)} steps: {said}"
        return f"{heading}\nplay it with `python -m histories --sink {self.sink} --replay FILE`:\n{written(short)}"

    def _failing_like(self, said: str) -> Callable[[Sequence[Step]], str]:
        """Fails where the same kind of thing goes wrong."""

        def fails(steps: Sequence[Step]) -> str:
            found = failure(self._play, steps)
            return found if found and _signature(found) == _signature(said) else ""

        return fails

    def _play(self) -> Play:
        name = next(self._names)
        folder = self.folder / name
        folder.mkdir()
        fail_over = self.fail_over and self._fail_over
        return Play(self.server, name, folder, self._sink(name, folder), fail_over, self._batch_rows)

    def _fail_over(self, chance: Random) -> SQLServer:
        """The next history begins at the server that has taken over."""
        assert self.fail_over is not None
        self.server = self.fail_over(chance)
        return self.server

    def _sink(self, name: str, folder: Path) -> Sink:
        if self.sink == "file":
            return File(folder)
        if self.sink == "kafka":
            return Kafka(self.broker(), name)

        def keys() -> dict[str, list[str]]:
            return keys_of(self.server, name)  # of the one that has taken over meanwhile

        place = (*([self.session()] if self.sink in ON_SPARK else []), folder, name, name)
        return _MIRRORS[self.sink](*place) if self.sink in _MIRRORS else _CHANGELOGS[self.sink](*place, keys)


_MIRRORS: Mapping[str, Callable[..., Tables]] = {
    "mirror": Mirror,
    "mirror-signals": SignalledMirror,
    "mirror-tail": HandedOverMirror,
    "delta": DeltaMirror,
    "spark-delta": DriversMirror,
    "iceberg": IcebergMirror,
    "spark-iceberg": DriversIcebergMirror,
    "delta-history": DeltaVersions,
    "iceberg-history": IcebergVersions,
}
_CHANGELOGS: Mapping[str, Callable[..., Tables]] = {
    "changelog": Changelog,
    "changelog-files": FiledChangelog,
    "changelog-signals": SignalledChangelog,
    "changelog-tail": HandedOverChangelog,
    "delta-changelog": DeltaChangelog,
    "spark-delta-changelog": WorkersChangelog,
    "iceberg-changelog": IcebergChangelog,
    "spark-iceberg-changelog": DriversIcebergChangelog,
}


def _signature(said: str) -> str:
    """What kind of failure it is: the error's type, or that rows differ."""
    found = re.search(r"the pipeline ended with (\w+)", said)
    return found[1] if found else "rows"
