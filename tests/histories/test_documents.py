"""Random histories of MongoDB's collections, identifiers of every type among them: a sink comes to what they hold.

Primaries are elected in mid-batch, and die with writes that are rolled back. A failure names its seed, and prints the
fewest steps in which it fails; more seeds, or those steps again:

    PYTHONPATH=tests .venv/bin/python -m histories --server mongodb --sink delta --first 1000 --count 50
    PYTHONPATH=tests .venv/bin/python -m histories --server mongodb --sink delta --replay FILE
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Never

import pytest
from _pytest.mark import ParameterSet
from pymongo.errors import OperationFailure
from pymongo.read_concern import ReadConcern

from cdckit_mongodb.snapshot import collections
from histories.document_play import SET_UP, DocumentPlay
from histories.document_series import KINDS, ON_SPARK, ROUNDS, DocumentSeries, history
from histories.document_sinks import DocumentSink, File
from histories.document_snapshots import BLOCKING, CHANNELS, INCREMENTAL, SNAPSHOTS
from histories.elections import ELECTIONS, ROLLBACK, WAITED
from histories.endings import DivergedError
from histories.steps import CHECK, Step
from testkit.servers.mongodb import MongoReplicaSet

SMALL = {"file": 51, "kafka": 52, "delta": 63, "delta-changelog": 60}
"""The seeds of `make test`: between them primaries go in every way, at every moment."""
LONG = {
    "file": range(81, 91),
    "kafka": range(91, 101),
    "delta": range(101, 111),
    "delta-changelog": range(111, 121),
    "mirror": range(121, 141),
    "changelog": range(141, 151),
}


WITH_SNAPSHOTS = range(5, 51)
"""The seeds of histories without elections in which collections are read again."""


def _nothing() -> Never:
    raise AssertionError("neither topics nor Spark are wanted")


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(3, 51))])
def test_the_file_comes_to_the_collections(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, seed: int, afterwards: ExitStack
) -> None:
    afterwards.callback(mongo.drop_database, unique_name)
    kinds = SNAPSHOTS if seed in WITH_SNAPSHOTS else ()
    series = DocumentSeries(mongo, "file", unique_name, tmp_path, _nothing, _nothing, kinds, shrinks=60)
    report = series.report(seed)
    assert not report, report


def _through_elections() -> Iterator[ParameterSet]:
    for sink, seed in SMALL.items():
        yield pytest.param(sink, seed, 1, id=f"{sink}-{seed}")
    for sink, seeds in LONG.items():
        marks = [pytest.mark.nightly, *([pytest.mark.spark] if sink in ON_SPARK else [])]
        for seed in seeds:
            yield pytest.param(sink, seed, ROUNDS, marks=marks, id=f"{sink}-{seed}")


def test_small_histories_have_every_event() -> None:
    """Each way in which a primary goes, at each moment, and in which a collection is read again."""
    steps = [step for sink, seed in SMALL.items() for step in history(seed, KINDS[sink], 1)]
    elections = {(step.kind, step.facts["moment"]) for step in steps if step.kind in ELECTIONS}
    assert elections == {(kind, moment) for kind, moments in DocumentSink.moments.items() for moment in moments}
    assert {step.kind for step in steps if step.kind in SNAPSHOTS} >= {INCREMENTAL, BLOCKING}
    incremental = [step.facts for step in steps if step.kind == INCREMENTAL]
    assert {facts["channel"] for facts in incremental} == {*CHANNELS}
    assert any(facts["changes"] for facts in incremental)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("sink", "seed", "rounds"), list(_through_elections()))
def test_the_sink_comes_to_the_collections_through_elections(
    three_members: MongoReplicaSet,
    unique_name: str,
    tmp_path: Path,
    sink: str,
    seed: int,
    rounds: int,
    request: pytest.FixtureRequest,
    afterwards: ExitStack,
) -> None:
    afterwards.callback(three_members.drop_database, unique_name)
    series = DocumentSeries(
        three_members,
        sink,
        unique_name,
        tmp_path,
        lambda: request.getfixturevalue("kafka_broker"),
        lambda: request.getfixturevalue("session"),
        shrinks=60,
        rounds=rounds,
    )
    report = series.report(seed)
    assert not report, report


@pytest.mark.unequal("a snapshot reads what is rolled back")
def test_a_reader_of_what_one_member_has_is_told_of(
    three_members: MongoReplicaSet,
    unique_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    afterwards: ExitStack,
) -> None:
    monkeypatch.setattr(collections, "ReadConcern", lambda _: ReadConcern("local"))
    afterwards.callback(three_members.drop_database, unique_name)
    play = DocumentPlay(three_members, unique_name, tmp_path, "p", File(tmp_path))
    steps = [
        Step(SET_UP, facts={"chance": 1, "source": {}, "sink": {}}),
        Step(ROLLBACK, facts={"chance": 2, "moment": WAITED}),
        Step(CHECK),
    ]
    with pytest.raises(DivergedError, match=r"step 3 \(check\): what is rolled back was told of: .*lost-2"):
        play.all(steps)


def test_a_change_stream_cannot_be_read_so(mongo: MongoReplicaSet, unique_name: str, afterwards: ExitStack) -> None:
    """No reader could be broken by that: the server refuses."""
    afterwards.callback(mongo.drop_database, unique_name)
    with mongo.client() as client:
        local = client[unique_name].get_collection("a", read_concern=ReadConcern("local"))
        local.insert_one({})
        with pytest.raises(OperationFailure, match="majority"):
            local.aggregate([{"$changeStream": {}}])
