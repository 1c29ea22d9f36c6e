"""Plays the histories of collections of seeds, and tells of each that fails in as few steps as it fails in."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

from histories.document_play import CHANGES, SET_UP, DocumentPlay
from histories.document_sinks import (
    Changelog,
    DocumentSink,
    File,
    Mirror,
    OnSpark,
    SignalledChangelog,
    SignalledMirror,
    SparkChangelog,
    SparkMirror,
    Tables,
    Topics,
)
from histories.document_snapshots import RESNAPSHOT, SNAPSHOTS, requested
from histories.elections import ELECTIONS
from histories.endings import DivergedError
from histories.shrinking import shrunk
from histories.steps import CHECK, DELIVER, Step, written
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mongodb import MongoReplicaSet

ON_SPARK: Mapping[str, type[OnSpark]] = {
    "mirror": SparkMirror,
    "changelog": SparkChangelog,
    "mirror-signals": SignalledMirror,
    "changelog-signals": SignalledChangelog,
}
IN_FOLDERS: Mapping[str, type[File | Tables]] = {"file": File, "delta": Mirror, "delta-changelog": Changelog}
KINDS: Mapping[str, type[DocumentSink]] = {**IN_FOLDERS, "kafka": Topics, **ON_SPARK}
"""What sinks are, by their names."""
ROUNDS = 5
"""How often documents are changed in a long history; small ones change them once, and each delivery has an election."""
_CHANGES = 30
_ELECTED = 0.6
_READ_AGAIN = 0.6

EVENTS = (*ELECTIONS, *SNAPSHOTS)
"""What happens beside changes."""


def history(seed: int, sink: type[DocumentSink], rounds: int, kinds: Collection[str] = EVENTS) -> list[Step]:
    """The steps of a seed.

    Args:
        seed: of the random numbers.
        sink: where they are delivered to.
        rounds: how often documents are changed.
        kinds: which elections there are, and ways in which collections are read again.
    """
    chance = Random(seed)
    ways = {"source": _ways(chance, sink.source_ways), "sink": _ways(chance, sink.sink_ways)}
    first = Step(SET_UP, facts={"chance": chance.getrandbits(30), **ways})
    steps = [first, _delivery(chance, sink, rounds, kinds), Step(CHECK)]
    for _ in range(rounds):
        change = Step(CHANGES, facts={"chance": chance.getrandbits(30), "count": _CHANGES})
        steps += [change, _delivery(chance, sink, rounds, kinds), Step(CHECK)]
    possible = tuple(kind for kind in SNAPSHOTS if kind in kinds and (sink.signals or kind == RESNAPSHOT))
    return [*_with_snapshots(Random(f"snapshots {seed}"), steps, possible)]


def _ways(chance: Random, ways: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {name: chance.choice(values) for name, values in ways.items()}


def _with_snapshots(chance: Random, steps: Sequence[Step], kinds: tuple[str, ...]) -> Iterator[Step]:
    """The steps, and before deliveries what has a collection read again in them."""
    for step in steps:
        delivers = step.kind in (DELIVER, *ELECTIONS)
        if kinds and delivers and chance.random() < _READ_AGAIN:
            yield requested(chance, kinds)
        yield step


def _delivery(chance: Random, sink: type[DocumentSink], rounds: int, kinds: Collection[str]) -> Step:
    elections = [kind for kind in ELECTIONS if kind in kinds]
    if not elections or (rounds > 1 and chance.random() > _ELECTED):
        return Step(DELIVER)
    kind = chance.choice(elections)
    moment = chance.choice(sink.moments[kind])
    return Step(kind, facts={"chance": chance.getrandbits(30), "moment": moment, "batches": chance.randint(1, 4)})


@dataclass
class DocumentSeries:
    """Histories of one replica set into sinks of one kind.

    Attributes:
        replica_set: where their database is: of three members, where there are elections.
        sink: the sink's name.
        database: their database, which each makes anew.
        folder: of all files.
        broker: where topics go.
        session: where Spark's pipelines run.
        kinds: which elections there are, and ways in which collections are read again.
        shrinks: for how many seconds a shorter history is looked for.
        rounds: how often documents are changed.
        told: what the last history came to beside what went wrong.
    """

    replica_set: MongoReplicaSet
    sink: str
    database: str
    folder: Path
    broker: Callable[[], KafkaBroker]
    session: Callable[[], SparkSession]
    kinds: Collection[str] = EVENTS
    shrinks: float = 120
    rounds: int = ROUNDS
    told: str = ""

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)

    def steps(self, seed: int) -> list[Step]:
        """The history of a seed."""
        return history(seed, KINDS[self.sink], self.rounds, self.kinds)

    def report(self, seed: int) -> str:
        """What goes wrong in the history of a seed, and a short one in which it does; "" where nothing does."""
        return self.report_of(self.steps(seed), f"seed {seed}")

    def report_of(self, steps: Sequence[Step], title: str) -> str:
        """The same for steps."""
        said = self._failure(steps)
        if not said:
            return ""
        told = self.told
        short, said = shrunk(steps, said, self._failure, self.shrinks)
        self.told = told
        heading = f"{title}, sink {self.sink}, {len(short)} of {len(steps)} steps: {said}"
        again = f"python -m histories --server mongodb --sink {self.sink} --replay FILE"
        return f"{heading}\nplay it with `{again}`:\n{written(short)}"

    def _failure(self, steps: Sequence[Step]) -> str:
        play = self._play()
        try:
            play.all(steps)
        except DivergedError as error:
            return str(error)
        finally:
            self.told = f"{play.delivered} deliveries, {play.elected} elections, {play.requested} read again"
        return ""

    def _play(self) -> DocumentPlay:
        prefix = f"{self.database}_{next(self._numbers)}"
        folder = self.folder / prefix
        folder.mkdir()
        return DocumentPlay(self.replica_set, self.database, folder, prefix, self._sink(folder, prefix))

    def _sink(self, folder: Path, prefix: str) -> DocumentSink:
        if self.sink == "kafka":
            return Topics(self.broker(), prefix)
        if self.sink in ON_SPARK:
            return ON_SPARK[self.sink](self.session(), folder)
        return IN_FOLDERS[self.sink](folder)
