"""Random histories of MongoDB's collections, identifiers of every type among them, through elections in mid-batch.

What the events come to is what a new pipeline reads: how a document is written is held to the Java driver's own text in
`tests/mongodb`. A failure names its seed, and the fewest rounds of changes in which it fails.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from pymongo.errors import PyMongoError

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from differential.document_workload import DocumentWorkload
from testkit.running import to_file
from testkit.servers.mongodb import MongoReplicaSet

ROUNDS = 5
CHANGES = 30
Documents = dict[tuple[str, str], str]
"""The text of each document, by its topic and its `_id`."""


class Collections:
    """One history: a database, and the pipeline that follows it.

    Args:
        replica_set: where the database is.
        database: which is not there yet.
        folder: of the pipeline's files.
        seed: of the history.

    Attributes:
        longest_wait: how many seconds after a delivery's begin an election may come.
        prefix: what topics begin with.
    """

    longest_wait: ClassVar[float] = 0.5
    prefix = "p"

    def __init__(self, replica_set: MongoReplicaSet, database: str, folder: Path, seed: int) -> None:
        self.replica_set = replica_set
        self.database = database
        self.folder = folder
        self.seed = seed
        self.chance = Random(seed)

    def failure(self, rounds: int, *, elections: bool) -> str:
        """What is wrong after so many rounds of changes; "" for nothing."""
        with self.replica_set.client() as client:
            client.drop_database(self.database)
            workload = DocumentWorkload(self.seed, client[self.database])
            workload.set_up(5)
            for number in range(rounds + 1):
                self.deliver(workload, elect=elections and number > 0)
                said = _difference(self.expected(), self.found())
                if said:
                    return f"seed {self.seed}, after {number} rounds of {CHANGES} changes: {said}"
                workload.change(CHANGES)
        return ""

    def deliver(self, workload: DocumentWorkload, *, elect: bool) -> None:
        """Runs the pipeline to the oplog's end, now and then while the set elects a primary."""
        if not elect or self.chance.random() < 0.5:
            self.follow()
            return
        wait = self.chance.uniform(0, self.longest_wait)
        with ThreadPoolExecutor(1) as beside:
            election = beside.submit(self._after, wait, workload)
            self.follow()
            election.result()
        for node in self.replica_set.nodes:
            if node.pid is None:
                node.start()
        self.replica_set.wait_until_complete()

    def _after(self, wait: float, workload: DocumentWorkload) -> None:
        time.sleep(wait)
        self.elect(workload)

    def elect(self, workload: DocumentWorkload) -> None:
        """The primary steps down."""
        with self.replica_set.client() as client, suppress(PyMongoError):
            client.admin.command({"replSetStepDown": 1, "secondaryCatchUpPeriodSecs": 0, "force": True})

    def follow(self) -> None:
        """One run of the pipeline that is looked at."""
        self.run(self.folder)

    def run(self, folder: Path) -> None:
        """One run of a pipeline whose state and file are in a folder."""
        folder.mkdir(exist_ok=True)
        DirectRunner(load_pipeline(to_file(folder, self.source).written())).run(once=True)

    @property
    def source(self) -> dict[str, Any]:
        """The options of every pipeline's source."""
        return {
            "type": "mongodb",
            "topic.prefix": self.prefix,
            "mongodb.connection.string": self.replica_set.uri,
            "mongodb.heartbeat.frequency.ms": 500,
            "database.include.list": self.database,
        }

    def expected(self) -> Documents:
        """What a new pipeline reads."""
        anew = self.folder / f"anew {self.chance.getrandbits(60)}"
        self.run(anew)
        return _folded(anew)

    def found(self) -> Documents:
        """What the events come to."""
        return _folded(self.folder)


def _folded(folder: Path) -> Documents:
    path = folder / "out.jsonl"
    return folded(map(json.loads, path.read_text(encoding="utf-8").splitlines() if path.exists() else ()))


def folded(records: Iterable[dict[str, Any]]) -> Documents:
    """The newest state of each document that is there.

    Args:
        records: topics, keys and values of events, those of a key in their order.
    """
    documents: Documents = {}
    for record in records:
        if record["value"] is None or "op" not in record["value"]:
            continue
        key = record["topic"], record["key"]["id"]
        if record["value"]["op"] == "d":
            documents.pop(key, None)
        elif record["value"]["after"] is not None:  # else the document was gone when its update was looked up
            documents[key] = document_text(record["value"]["after"])
    return documents


def document_text(document: str) -> str:
    """A document with its `_id` first, as collections have it; a change that replaces it may show it elsewhere."""
    members = json.loads(document, object_pairs_hook=tuple)
    return repr(sorted(members, key=lambda member: member[0] != "_id"))


def _difference(expected: Documents, found: Documents) -> str:
    lines = [f"missing {key}" for key in expected.keys() - found.keys()]
    lines += [f"extra {key}" for key in found.keys() - expected.keys()]
    both = expected.keys() & found.keys()
    lines += [f"{key}: {found[key]} for {expected[key]}" for key in both if expected[key] != found[key]]
    return "\n".join(lines[:10])


def failure_of(new: Callable[[str], Collections], *, elections: bool) -> str:
    """What is wrong after as few rounds of changes as make it so; "" for nothing.

    Args:
        new: makes a history with a folder of this name.
        elections: whether there are any.
    """
    said = new("first").failure(ROUNDS, elections=elections)
    for rounds in range(ROUNDS) if said else ():
        if shorter := new(f"rounds {rounds}").failure(rounds, elections=elections):
            return f"{rounds} rounds are enough: {shorter}"
    return said


@pytest.mark.parametrize("elections", [False, True])
@pytest.mark.parametrize("seed", [*range(1, 5), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(5, 51))])
def test_the_events_come_to_the_collections(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, seed: int, elections: bool, afterwards: ExitStack
) -> None:
    afterwards.callback(mongo.drop_database, unique_name)
    said = failure_of(lambda name: Collections(mongo, unique_name, tmp_path / name, seed), elections=elections)
    assert not said, said
